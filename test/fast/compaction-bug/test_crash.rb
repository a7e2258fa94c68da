# frozen_string_literal: true

# A segmentation fault in the middle of the sampler's work ends as any other does.

require_relative "bug"

class CrashTest < BugTest
  # Two threads take snapshots and allocate.
  SNAPSHOTS = <<~RUBY
    ran = Queue.new
    [-> { GC.sample_profile }, -> { Array.new(100) { Object.new } }].each { |work| Thread.new { loop { work.call; ran << work } } }
    seen = []
    seen |= [ran.pop] until seen.size == 2
    Process.kill(:SEGV, $$); sleep
  RUBY

  # The status, how many parts of the report have come to their end, and how many reports there are.
  def crash(program, settings: nil, env: {})
    one = ended(RbConfig.ruby, "-e", program, settings: settings, env: env)
    [one.status, one.err.scan(/^\[NOTE\]|^\* Process memory map:/).size, one.err.scan("[BUG]").size]
  end

  def plain = @plain ||= crash("Process.kill(:SEGV, $$); sleep")

  test "a crash in GC while the sampler holds its lock ends as any other" do
    library = "#{OUT}/crash_in_lock.so"
    system(*%w[gcc -Wall -Wextra -shared -fPIC -o], library, "#{__dir__}/crash_in_lock.c", "-ldl", exception: true)
    assert_equal plain, crash('ENV["CRASH_NOW"] = "1"; GC.start; puts "alive"', settings: EXACT, env: {"LD_PRELOAD" => library})
  end

  test "a crash while snapshots are taken ends as any other" do
    assert_equal plain, crash(SNAPSHOTS, settings: EXACT)
  end
end
