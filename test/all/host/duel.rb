# frozen_string_literal: true

require "fileutils"
require "socket"

# Interrupts of a program that is asked to start, stop, set, collect garbage and walk all the while, and of one that is not
# sampled, in turns: none may be lost, and the latest of the one be at most 50 ms later than the latest of the other.
class Duel
  SLICE = 50
  LATER_MOST = 0.050
  REQUESTS = ["stop", "start interval=1m malloc=off", "set interval=64k", "stop", "start interval=4k malloc=off", "profile gc=1 diagnose=10%25", "profile why=1 diagnose=10%25", "memory"].freeze

  def initialize(ruby, control, dir, count, timed:)
    @ruby, @control, @dir, @count, @timed = ruby, control, dir, count, timed
  end

  def run
    FileUtils.rm_rf(@dir)
    FileUtils.mkdir_p(@dir)
    programs = {sampled: start(@ruby, "output=none,interval=64k"), control: start(@control, nil)}
    programs.each_value(&:gets)
    answers = Hash.new(0)
    asker = Thread.new { ask(answers) }
    lost, late = {sampled: 0, control: 0}, {sampled: [], control: []}
    (@count / SLICE).times do
      programs.each do |name, io|
        io.puts(SLICE)
        words = io.gets&.split or return Tap.report(false, "of #{@count} interrupts none is lost", ["the #{name} program ended"])
        lost[name] += 1 if words[0] != "0"
        late[name] << words[1].to_f
      end
      break if lost[:sampled] > 0
    end
    report(lost, late.transform_values(&:max), answers)
  ensure
    asker&.kill
    programs&.each_value { |io| Process.kill(:KILL, io.pid) && io.close }
  end

  private

  # With slices of 100 ms, the default, each interrupt of a thread that computes waits for one, and ten thousand take half an hour.
  def start(ruby, settings)
    env = {"RUBY_HEAP_SAMPLE" => settings, "TMPDIR" => @dir, "XDG_RUNTIME_DIR" => nil, "RUBYOPT" => nil, "RUBY_THREAD_TIMESLICE" => "10"}
    IO.popen([env, ruby, "--disable=gems", "-W0", "#{__dir__}/interrupts.rb"], "r+")
  end

  def ask(answers)
    path = Dir.glob("#{@dir}/ruby-heap-*/*.sock").first
    REQUESTS.cycle do |request|
      UNIXSocket.open(path) do |socket|
        socket.write("heap-sample/1 #{request}\n")
        answers[socket.read[/\Aheap-sample\/1 \w+/n]] += 1
      end
    rescue SystemCallError
      sleep(0.01)
    end
  end

  def report(lost, latest, answers)
    Tap.report(lost[:sampled].zero? && answers["heap-sample/1 ok"] > 0, "of #{@count} Timeouts, Thread#raise and Thread#kill none is lost: #{lost}, answers: #{answers}")
    shown = latest.map { |name, seconds| "#{name} #{(seconds * 1000).round} ms" }.join(", ")
    return Tap.skip("the latest is at most 50 ms later than without sampling", "a share only: #{shown}") unless @timed

    Tap.report(latest[:sampled] - latest[:control] <= LATER_MOST, "the latest is at most 50 ms later than without sampling: #{shown}")
  end
end
