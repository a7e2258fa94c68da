#ifndef TEST_OUTPUT_TESTS_H
#define TEST_OUTPUT_TESTS_H
/* What main.c runs: a function for each file. */

void test_options(void);
void test_memory(void);
void test_memory_limit(const char *top);
void test_identity(void);
void test_encode(void);
void test_encode_memory(void);
void test_gzip(const char *folder);
void test_writer(const char *folder);
void test_save(const char *folder);
void test_native(const char *folder);
void test_native_fork(void);
void test_table(void);
void test_epochs(void);
void test_gc_log(void);
void test_gc_times(void);
void test_majors(void);
void test_pace(void);
void test_budget(void);
void test_protocol(void);
void test_answer(void);
void test_names(void);

/* Lets `countdown` more allocations of the sampler's succeed, then fails all of them; a negative number never fails. */
void fail_after(long countdown);

#endif
