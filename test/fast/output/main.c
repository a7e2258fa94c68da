/*
 * Tests of the sampler's options, output and names of native code, without a VM.
 *
 *     test-output FIRST FOLDER            all tests, numbered from FIRST; files go to FOLDER
 *     test-output FIRST FOLDER gzip       those of gzip only (for the build without zlib)
 *
 * FOLDER keeps sample.* and hostile.* for test/fast/output/run, which asks other
 * programs what they make of them.  Exit status: 0 if every test passed.
 */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number, failures;

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
main(int argc, char **argv)
{
    if (argc < 3) return 2;
    number = atoi(argv[1]);
    if (argc == 4 && strcmp(argv[3], "fork") == 0) {
        test_native_fork();
        return failures ? 1 : 0;
    }
    test_gzip(argv[2]);
    if (argc == 3) {
        test_options();
        test_memory_limit(argv[2]);
        test_encode();
        test_encode_memory();
        test_writer(argv[2]);
        test_save(argv[2]);
        test_native(argv[2]);
        test_table();
        test_epochs();
    }
    return failures ? 1 : 0;
}
