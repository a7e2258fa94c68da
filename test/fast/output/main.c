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
#include "tests.h"

#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    if (argc < 3) return 2;
    tap_begin(atoi(argv[1]));
    if (argc == 4 && strcmp(argv[3], "fork") == 0) {
        test_native_fork();
        return tap_finish();
    }
    test_gzip(argv[2]);
    if (argc == 3) {
        test_options();
        test_memory();
        test_memory_limit(argv[2]);
        test_who();
        test_encode();
        test_encode_memory();
        test_writer(argv[2]);
        test_save(argv[2]);
        test_native(argv[2]);
        test_table();
        test_epochs();
        test_gc_times();
        test_pace();
        test_budget();
        test_protocol();
        test_answer();
        test_names();
    }
    return tap_finish();
}
