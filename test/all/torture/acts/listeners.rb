# frozen_string_literal: true

# Listeners of sampled allocations (include/ruby/heap_sampler.h) come and go while others run; in their calls they allocate,
# raise, leave, fork, and let others in. What is reported to them adds up.
class Listeners < Act
  def self.about_the_sampler? = true

  CHILD_SECONDS = 30

  # The extension of the sampler's own tests, which run has compiled.
  def self.api
    @api ||= begin
      require File.join(ENV.fetch('TORTURE_EXTENSION'), 'heap_sampler_listeners')
      Bug::HeapSamplerListeners
    end
  end

  def step
    @children = []
    listeners = Array.new(@random.rand(1..5)) { listen }.grep(Integer)
    return if listeners.empty?

    exact = listen_exactly
    @kept = Array.new(@random.rand(1..200)) { Witness.new(__FILE__, __LINE__) }
    same(true, api.counts(exact)[0] >= @kept.size, 'allocations at interval 1') if exact.is_a?(Integer)
    end_with(listeners)
    listeners << exact if exact.is_a?(Integer)
  ensure
    (listeners || []).each { |listener| api.release(listener) }
    @children.each { |pid| wait_for(pid) }
  end

  private

  def api = Listeners.api

  def listen_exactly = api.listen(1, 0, @random.rand(2).zero?, nil)

  # Integer; or EAGAIN: there are eight, or ENOMEM.
  def listen
    acts = [nil, :raise, :allocate, :unlisten, :call_c, method(:work).to_proc, method(:leave_by_raising).to_proc, method(:let_in).to_proc]
    acts << method(:fork_one).to_proc unless defined?(Ractors) && Ractors.played?
    number = api.listen(*[[1, 0], [64, 0], [4096, 1024], [0, 4096]].sample(random: @random), @random.rand(2).zero?, acts.sample(random: @random))
    return number if number.is_a?(Integer) || %i[EAGAIN ENOMEM].include?(number)

    raise Wrong, "listeners: #{number}"
  end

  # In a call, at a safe point.
  def work(_) = Array.new(20) { |i| { i => i.to_s * 50 } }
  def leave_by_raising(_) = raise('out of a call')

  def fork_one(_)
    @children << fork { exit!(0) } if @children.size < 2
  end

  def let_in(_)
    number = api.listen(4096, 0, true, nil)
    api.release(number) if number.is_a?(Integer)
  end

  def end_with(listeners)
    case @random.rand(3)
    when 0 then GC.start(full_mark: @random.rand(2).zero?)
    when 1 then api.flush
    else api.unlisten(listeners.sample(random: @random))
    end
  end

  # A child hangs now and then where another thread held a lock of MRI's at the fork (see Forks).
  def wait_for(pid)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + CHILD_SECONDS
    until Process.wait(pid, Process::WNOHANG)
      sleep(0.01)
      Process.kill(:KILL, pid) if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    end
  end
end
