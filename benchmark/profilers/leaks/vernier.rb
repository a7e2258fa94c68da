# What was allocated from 10 s to 40 s and is live at 58 s: vernier's retained mode, by its leak detector.
require "vernier"
DETECTOR = Vernier::MemoryLeakDetector.start_thread(idle_time: 10, collect_time: 30, drain_time: 18,
                                                    out: "#{Measure::OUT}/vernier.json.gz")
at_exit { DETECTOR.result }
