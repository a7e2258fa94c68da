#ifndef TEST_TAP_H
#define TEST_TAP_H
/*
 * Statements about behaviour from C, printed in the Test Anything Protocol.
 * The program's main ends with `return tap_finish();`.
 */
#include <stdbool.h>

/* "ok 3 - name", or "not ok 3 - name" with what was seen instead. */
bool ok(bool passed, const char *format, ...) __attribute__((format(printf, 2, 3)));
void skip(const char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of explanation under a failure. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool is_number(long long got, long long expected, const char *name);
bool is_text(const char *got, const char *expected, const char *name);

/* Prints the plan. The exit status: 0 if all passed. */
int tap_finish(void);

#endif
