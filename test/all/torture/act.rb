# frozen_string_literal: true

require_relative 'witness'

# One thing that programs do to a VM, over and over, checked by what it computes.
#
# An act runs on a thread of its own, together with the others of its mix; `step` is one unit of work, short, so that all end
# in time. Its choices come from its own Random alone: the same seed makes the same choices, whatever the threads'
# schedule. It knows nothing of the sampler unless that is what it is about.
class Act
  Wrong = Class.new(StandardError)

  @all = []

  class << self
    attr_reader :all

    def inherited(act)
      super
      Act.all << act
    end

    # As it is called on the command line: the name of its file.
    def called = name.gsub(/(?<=[a-z])(?=[A-Z])/, '_').downcase

    # May it be played together with that act? Not where MRI itself does not survive the two in one process.
    def beside?(_other) = true

    # Is there nothing of it without the sampler?
    def about_the_sampler? = false
  end

  # `stage` knows the run: its folder, whether time is up, what is sampled.
  def initialize(random, stage)
    @random = random
    @stage = stage
  end

  # Objects that know where they were allocated; an act keeps some in @kept.
  def witnesses = [@kept].flatten.grep(Witness)

  # The last word, when all acts have ended.
  def finish; end

  private

  def same(expected, actual, what)
    return if expected == actual

    raise Wrong, "#{self.class.called}: #{what}: expected #{short(expected)}, got #{short(actual)}"
  end

  def short(value) = value.inspect.then { |text| text.size > 200 ? "#{text[0, 200]}…" : text }

  def rescued(type)
    yield
    raise Wrong, "#{self.class.called}: no #{type}"
  rescue type => e
    e
  end

  def time_up? = @stage.time_up?
end
