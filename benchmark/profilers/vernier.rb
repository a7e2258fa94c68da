require "vernier"
Vernier.start_profile(mode: :wall, interval: 1_000_000, allocation_interval: 10_000)
