#ifndef TEST_OUTPUT_TAP_H
#define TEST_OUTPUT_TAP_H
/*
 * Statements about behaviour, printed in the Test Anything Protocol.
 */
#include <stdbool.h>

/* "ok 3 - name", or "not ok 3 - name" with what was seen instead. */
bool ok(bool passed, const char *format, ...) __attribute__((format(printf, 2, 3)));
void skip(const char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of explanation under a failure. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool is_number(long long got, long long expected, const char *name);
bool is_text(const char *got, const char *expected, const char *name);

void test_options(void);
void test_memory_limit(const char *top);
void test_encode(void);
void test_encode_memory(void);
void test_gzip(const char *folder);
void test_writer(const char *folder);
void test_save(const char *folder);
void test_native(const char *folder);
void test_native_fork(void);
void test_table(void);
void test_epochs(void);

#endif
