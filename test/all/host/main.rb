# frozen_string_literal: true

# Plays the same acts with sampling and an asker, and without, seed after seed, until time is up: TAP, a line for each seed.
# Their outputs must be the same, line by line.
# Usage: ruby main.rb                environment: see run
#        ruby main.rb SEED [ACT,…]   plays this one, with these acts instead of its own

require_relative "../../tap"
require_relative "play"
require_relative "duel"

class Hosts
  def initialize
    @ruby = ENV.fetch("RUBY")
    # Without sampling: the unpatched Ruby where it is built.
    @control = ENV.fetch("STOCK_RUBY", @ruby)
    @count = Integer(ENV.fetch("HOST_ACTS", 30))
    @out = ENV.fetch("HOST_OUT")
    @mutex = Mutex.new
  end

  def many(seconds, first_seed, jobs)
    ends = now + seconds
    seed = first_seed - 1
    Array.new(jobs) do
      Thread.new { one(@mutex.synchronize { seed += 1 }) while now < ends }
    end.each(&:join)
  end

  def one(seed, names = nil)
    control = play(@control, seed, names, sampled: false)
    off = play(@ruby, seed, names, sampled: false) unless @control == @ruby
    sampled = play(@ruby, seed, names, sampled: true)
    sound = control.lines.last == "left: []" ? [] : ["without sampling: #{control.lines.last}"]
    wrong = [*sound, *control.complaints.map { |line| "without sampling: #{line}" }, *off&.complaints&.map { |line| "with the sampler off: #{line}" }, *sampled.complaints,
             *(difference(control, off) if off), *difference(control, sampled)]
    [control, off, sampled].compact.each(&:forget) if wrong.empty?
    Tap.report(wrong.empty?, "seed #{seed}: #{control.lines.size} lines of a host are the same with sampling",
               wrong.empty? ? [] : [*wrong, "again: test/all/host/run #{seed}#{" #{names}" if names}"])
  end

  private

  def play(ruby, seed, names, sampled:) = Play.new(ruby, seed, @count, names, "#{@out}/#{seed}-#{sampled ? "sampled" : "off"}", sampled: sampled).run

  # What the runs printed differently; the line names the act.
  def difference(one, other)
    (0...[one.lines.size, other.lines.size].max).reject { |index| one.lines[index] == other.lines[index] }.first(6)
                                                .flat_map { |index| ["without: #{one.lines[index] || "(ended)"}", "   with: #{other.lines[index] || "(ended)"}"] }
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

hosts = Hosts.new
if ARGV.empty?
  interrupts = Integer(ENV.fetch("HOST_INTERRUPTS", 10_000))
  if interrupts > 0
    Duel.new(ENV.fetch("RUBY"), ENV.fetch("STOCK_RUBY", ENV.fetch("RUBY")), "#{ENV.fetch("HOST_OUT")}/interrupts", interrupts, timed: ENV["HOST_TIMED"] != "0").run
  end
  hosts.many(Integer(ENV.fetch("HOST_SECONDS", 600)), Integer(ENV.fetch("HOST_SEED") { rand(1 << 30) }), Integer(ENV.fetch("HOST_JOBS", 2)))
else
  hosts.one(Integer(ARGV[0]), ARGV[1])
end
Tap.finish
