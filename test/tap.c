#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int number = 1, failures;

bool
ok(bool passed, const char *format, ...)
{
    va_list args;

    printf("%sok %d - ", passed ? "" : "not ", number++);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    if (!passed) failures++;
    fflush(stdout);
    return passed;
}

void
skip(const char *reason, const char *format, ...)
{
    va_list args;

    printf("ok %d - ", number++);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf(" # SKIP %s\n", reason);
    fflush(stdout);
}

void
note(const char *format, ...)
{
    va_list args;

    printf("#   ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

bool
is_number(long long got, long long expected, const char *name)
{
    bool passed = ok(got == expected, "%s", name);
    if (!passed) note("got %lld, expected %lld", got, expected);
    return passed;
}

bool
is_text(const char *got, const char *expected, const char *name)
{
    bool passed = ok(strcmp(got, expected) == 0, "%s", name);
    if (!passed) note("got      %s", got);
    if (!passed) note("expected %s", expected);
    return passed;
}

int
tap_finish(void)
{
    printf("1..%d\n", number - 1);
    return failures ? 1 : 0;
}
