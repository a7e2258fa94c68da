# frozen_string_literal: true

# GC.compact in a running process, on request.

require_relative "processes"

class CompactTest < Test
  include CommandHelper
  include OwnSockets

  # Pages that are nearly empty: one object of fifty is left.
  FRAGMENTED = <<~'RUBY'
    kept = Array.new(2_000_000) { Object.new }.each_slice(50).map(&:first)
    GC.start
    before = kept.map(&:object_id) if ARGV[0] == "check"
    puts "ready"
    $stdout.flush
    $stdin.gets
    puts kept.size, kept.all?(Object), before == kept.map(&:object_id)
  RUBY

  def fragmented(settings, program = FRAGMENTED, **env)
    IO.popen({**CLEAN, "RUBY_HEAP_SAMPLE" => settings, **env}, [OURS, "--disable=gems", "-e", program, "check"], "r+") do |io|
      io.gets
      yield io.pid, io
    ensure
      Process.kill(:KILL, io.pid)
    end
  end

  test "the stop is said first, and the report has what came back; objects are the same afterwards" do
    fragmented("interval=64k,malloc=off,output=none") do |pid, io|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      result = heapsample("compact", pid.to_s, "--most", "60", "--diagnose", "50%")
      took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      assert_equal(0, result.status, result.err)
      expected = result.err[/compaction stops Ruby code for about ([\d.]+) s/, 1].to_f
      assert_operator(expected, :>, 0.05)
      # The estimate measures the machine as it is now, and machines change: a stop of 0.3 to 5 times the estimate was seen.
      stop, estimate = result.out[/for (.*?), and/, 1].split("(expected: ").map { |time| time.to_f / (time.include?("ms") ? 1000 : 1) }
      assert_includes(estimate / 10..estimate * 20, stop)
      assert_operator(stop, :<, took)
      moved = result.out[/moved ([\d,]+) of/, 1].delete(",").to_i
      assert_operator(moved, :>, 10_000)
      assert_match(/^ *[\d.]+ MiB +[\d.]+ MiB +[\d,]+ +[\d,]+  before$/, result.out)
      before, after = %w[before after].map { |name| result.out[/^ *([\d.]+) MiB.*  #{name}$/, 1].to_f }
      assert_operator(after, :<, before)
      note("expected #{expected} s; #{result.out.lines.first}")
      io.puts
      assert_equal(%w[40000 true true], Array.new(3) { io.gets.chomp })
    end
  end

  test "nothing is done if the stop would be longer, or if it is not worth it" do
    fragmented("interval=64k,malloc=off,output=none") do |pid,|
      fails_with(/nothing was done: the stop is longer than --most 0/, "compact", pid.to_s, "--most", "0")
      process = HeapSample::LiveProcess.new(pid)
      refused = assert_raises(HeapSample::LiveProcess::Refused) { process.compact(stop: 1) }
      assert_match(/compaction would stop Ruby code for about \d+ ms; allow it with stop=\d+/, refused.message)
    end
    fragmented("interval=64k,malloc=off,output=none", "$kept = Array.new(100_000) { Object.new }; 2.times { GC.start }; puts 1; $stdout.flush; $stdin.gets") do |pid,|
      fails_with(/which is not worth the stop; add --force/, "compact", pid.to_s, "--most", "60", "--diagnose", "off")
      assert_match(/Compaction stopped Ruby code/, heapsample("compact", pid.to_s, "--most", "60", "--force", "--diagnose", "off").out)
    end
  end

  test "where the kernel is slow to protect pages, the longer stop is expected, and refused" do
    Dir.mktmpdir do |dir|
      slow = File.join(dir, "slow_mprotect.so")
      system(*%w[gcc -Wall -Wextra -shared -fPIC -o], slow, "#{__dir__}/slow_mprotect.c", exception: true)
      fragmented("standby", "LD_PRELOAD" => slow) do |pid,|
        fails_with(/nothing was done: the stop is longer than --most 1;/, "compact", pid.to_s, "--diagnose", "off")
        stop = heapsample("compact", pid.to_s, "--most", "60", "--force", "--diagnose", "off").out[/for ([\d.]+) s/, 1].to_f
        assert_operator(stop, :>, 1)
      end
    end
  end

  test "a process without a sample is compacted, and one whose GC is disabled is not" do
    fragmented("standby") { |pid,| assert_match(/moved [\d,]{5,} of/, heapsample("compact", pid.to_s, "--most", "60", "--diagnose", "off").out) }
    fragmented("standby", "GC.disable; puts 1; $stdout.flush; $stdin.gets") do |pid,|
      fails_with(/cannot compact its heap: GC or major GCs are disabled/, "compact", pid.to_s, "--force", "--diagnose", "off")
    end
  end

  # After the line that says how long the stop is.
  def fails_with(pattern, *arguments)
    result = heapsample(*arguments)
    assert_equal([1, ""], [result.status, result.out], result.err)
    assert_match(pattern, result.err)
  end
end
