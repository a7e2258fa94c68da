# With AddressSanitizer page tables take 2 MB, and the stop of the first walk is estimated at 51 ms or more (200 ns for
# each entry). No walk begins by itself that would stop the program for more than 50 ms, so these tests would wait in vain.
reason = "a heap walk would stop the program for too long"
exclude :test_no_walk_begins_by_itself_that_would_stop_the_program_for_long, reason
exclude :test_the_first_walk_of_a_large_heap_waits_until_half_of_its_price_is_paid, reason
exclude :test_growth_leads_to_a_walk, reason
exclude :test_with_a_share_it_runs_gcs_and_forks_walks, reason
exclude :test_the_first_walk_waits_until_a_young_process_has_filled_its_heap, reason
exclude :test_a_process_that_does_not_grow_gets_no_further_walk, reason
exclude :test_major_gcs_that_leave_more_alive_lead_to_a_walk, reason
