/*
 * Tests of the sampler's options, output and names of native code, without a VM.
 *
 *     test-output FOLDER            all tests; files go to FOLDER
 *     test-output FOLDER gzip       the tests of gzip only (for the build without zlib)
 *     test-output FOLDER fork       what a child that is forked reads (for the build without sanitizers)
 *
 * FOLDER keeps sample.* and hostile.* for test/fast/output/run, which asks other
 * programs what they make of them.  Exit status: 0 if every test passed.
 */
#include "tap.h"
#include "tests.h"

#include <string.h>

int
main(int argc, char **argv)
{
    if (argc < 2) return 2;
    if (argc == 3 && strcmp(argv[2], "fork") == 0) {
        test_native_fork();
        return tap_finish();
    }
    test_gzip(argv[1]);
    if (argc == 2) {
        test_options();
        test_memory();
        test_memory_limit(argv[1]);
        test_identity();
        test_encode();
        test_encode_memory();
        test_writer(argv[1]);
        test_save(argv[1]);
        test_native(argv[1]);
        test_table();
        test_epochs();
        test_gc_log();
        test_gc_times();
        test_majors();
        test_pace();
        test_budget();
        test_protocol();
        test_answer();
        test_names();
    }
    return tap_finish();
}
