# frozen_string_literal: true

# TracePoints that come and go while others run; their handlers allocate.
class Tracing < Act
  EVENTS = [:line, :call, :c_call, :b_return, :raise, :class].freeze

  def step
    seen = []
    trace = TracePoint.new(*EVENTS.sample(@random.rand(1..3), random: @random)) { |at| seen << [at.event, at.lineno] }
    trace.enable(target_thread: Thread.current) { traced }
    same(false, trace.enabled?, 'the trace is off')
    same(true, seen.all? { |event, line| EVENTS.include?(event) && line.is_a?(Integer) }, 'what was traced')
    targeted
  end

  private

  def traced
    Class.new { def m = [Object.new, Witness.new(__FILE__, __LINE__)] }.new.m
    raise 'seen' if @random.rand(2).zero?
  rescue RuntimeError
    nil
  end

  def plain = Object.new

  def targeted
    calls = 0
    TracePoint.new(:call) { calls += 1 }.enable(target: method(:plain)) { 3.times { plain } }
    same(3, calls, 'calls of one method')
  end
end
