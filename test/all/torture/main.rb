# frozen_string_literal: true

# Plays mix after mix, some at once, until time is up: TAP, a line for each run. One that goes wrong is played again
# with the sampler off, and on the unpatched Ruby, to see whose fault it is: a hang that it has too is skipped, a crash never.
# Usage: ruby main.rb               environment: see run
#        ruby main.rb SEED [ACT,…]  plays this one mix, with these acts instead of its own

require 'tmpdir'
require_relative '../../tap'
require_relative 'hang'
require_relative 'mix'
require_relative 'play'

class Torture
  RERUNS = 3

  def initialize
    @ruby = ENV.fetch('RUBY')
    @stock = ENV['STOCK_RUBY']
    @seconds = Integer(ENV.fetch('TORTURE_RUN_SECONDS', 12))
    @out = ENV.fetch('TORTURE_OUT')
    @mutex = Mutex.new
  end

  def one(seed, names)
    perform(Mix.new(seed, names: names&.split(',')))
    Tap.finish
  end

  # Half of all runs are with YJIT, a third at interval 1: the first few already cover most of the acts.
  def many(total_seconds, first_seed, jobs)
    give_up = now + total_seconds - @seconds
    known_deadlock
    seed = first_seed - 1
    Array.new(jobs) do
      Thread.new { perform(Mix.new(@mutex.synchronize { seed += 1 })) while now < give_up }
    end.each(&:join)
    Tap.finish
  end

  private

  # The rule that excuses a run meets what it is about, where there is no sampler. On a busy machine one that gets no
  # processor for a second stands still, too: it is looked at again.
  DEADLOCK_SECONDS = 20
  LOOKS = 20
  def known_deadlock
    Dir.mktmpdir do |dir|
      pid = spawn({ 'RUBYOPT' => nil }, @stock || @ruby, '--disable=gems', '-W0', "#{__dir__}/deadlock.rb", DEADLOCK_SECONDS.to_s)
      looks, known = 0, false
      until (ended = Process.wait(pid, Process::WNOHANG)) || known || looks == LOOKS
        sleep(0.1)
        next unless stands_still?(pid)

        looks += 1
        known = Hang.new(pid, "#{dir}/backtrace").barrier_deadlock?
      end
      say(known || ended, "MRI's own deadlock is known by its stacks", ended && !known && 'it did not come about',
          *(File.readlines("#{dir}/backtrace", chomp: true).grep(/^(?:Thread|#)/) unless known || ended))
    ensure
      Process.kill(:KILL, pid) && Process.wait(pid) if pid && !ended
    end
  end

  # None of its threads runs for a second (fields of proc(5) after the name: 11 and 12 are the times).
  def stands_still?(pid)
    used = -> { File.read("/proc/#{pid}/stat").rpartition(')').last.split[11, 2] }
    before = used.call
    10.times.all? { sleep(0.1) && used.call == before }
  end

  def perform(mix)
    play = Play.new(@ruby, mix, @seconds, "#{@out}/#{mix.seed}", sampled: true).run
    return report(mix, true, nil, play.summary) if play.fine?

    stock = replay(@stock, mix, 'unpatched')
    off = replay(@ruby, mix, 'off')
    report(mix, false, excuse_of(play, stock), *play.complaints, "its output: build/test/torture/#{mix.seed}; again: #{again(mix)}",
           *said_of('with the sampler off', off), *said_of('on the unpatched Ruby', stock))
  end

  def excuse_of(play, stock)
    theirs = play.hung? ? stock.count(&:hung?) : 0
    return "the unpatched Ruby hangs in #{theirs} of #{RERUNS}" if theirs > 0

    "a Ractor that ends, a barrier and a thread that comes back: a deadlock of MRI's" if play.barrier_deadlock?
  end

  def again(mix) = "test/all/torture/run #{mix.seed} #{mix.acts.map(&:called).join(',')}"

  # The same without the sampler, some times.
  def replay(ruby, mix, name)
    return [] unless ruby

    Array.new(RERUNS) { |i| Play.new(ruby, mix, @seconds, "#{@out}/#{mix.seed}-#{name}-#{i}", sampled: false).run }
  end

  def said_of(how, plays)
    return ["#{how}: none is built (make stock)"] if plays.empty?

    ["#{how} #{plays.count { |play| !play.fine? }} of #{RERUNS} fail: #{plays.flat_map(&:complaints).first(2).join(' ')}"]
  end

  # `excuse`: why a run that went wrong is not our fault.
  def report(mix, fine, excuse, *lines) = say(fine || excuse, mix, excuse, *lines)

  def say(good, name, excuse, *lines)
    Tap.report(good, "#{name}#{" # SKIP #{excuse}" if excuse}", lines.compact)
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

torture = Torture.new
if ARGV.empty?
  torture.many(Integer(ENV.fetch('TORTURE_SECONDS', 600)), Integer(ENV.fetch('TORTURE_SEED') { rand(1 << 30) }),
               Integer(ENV.fetch('TORTURE_JOBS', 2)))
else
  torture.one(Integer(ARGV[0]), ARGV[1])
end
