reason = "see TestHeapSamplerGCs"
exclude :test_a_share_of_the_run_time, reason
exclude :test_a_share_gives_no_second_walk_until_memory_has_grown, reason
