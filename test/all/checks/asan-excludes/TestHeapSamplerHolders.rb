reason = "see TestHeapSamplerGCs"
exclude :test_a_walk_that_hangs_is_not_made_again_at_once, reason
exclude :test_a_share_pays_for_walks_of_periodic_profiles, reason
