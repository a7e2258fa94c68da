# RUBY_DEBUG makes each slot 8 bytes larger, and these tests count slots of 40 bytes.
reason = "slots have 48 bytes"
exclude :test_ractors_and_stress, reason
exclude :test_an_allocation_says_what_where_and_when, reason
exclude :test_each_hears_what_it_would_alone_and_the_profile_stays_right, reason
exclude :test_too_many_samples_are_forgotten_and_the_others_count_for_them, reason
exclude :test_the_event_for_trace_points, reason
exclude :test_an_allocation_says_what_was_asked_for_and_what_it_takes, reason
# Their listeners call Ruby code on purpose, which ends such a build: with an assertion, or with the stack's canary.
reason = "a listener calls Ruby code"
exclude :test_what_it_raises_is_not_raised, reason
exclude :test_no_other_thread_runs_in_a_call, reason
