exclude :test_threads, "frames of C code that was not optimised take more than 1 MiB in a thread"
