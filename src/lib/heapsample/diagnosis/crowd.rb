# frozen_string_literal: true

module HeapSample
  # Threads, or fibers, of which there are ever more.  They are counted, not sampled, so that a few profiles tell.
  class Crowd
    # So many more, and such a part of all there are, are worth a word.
    LEAST = 20
    SHARE = 0.25

    # call-seq:
    #   Crowd.of(infos) { |kind| course } -> HeapSample::Crowd or nil
    #
    # The larger of those that grow all along in +infos+, HeapSample::Metas of one process; the Course of how many there
    # are is the block's.
    def self.of(infos)
      crowds = Alive::KINDS.keys.map { |kind| new(kind, infos, yield(kind)) }
      crowds.select(&:grows?).max_by { |crowd| crowd.course.grew }
    end

    # :threads or :fibers; the Course of how many there are.
    attr_reader :kind, :course

    def initialize(kind, infos, course)
      @kind = kind
      @first, @last = infos.values_at(0, -1).map(&:alive)
      @course = course
    end

    # Are there more and more of them, many more than at first?
    def grows? = !@first.nil? && !@last.nil? && course.steady? && course.grew >= LEAST && course.grew >= SHARE * now

    # How many there were at first.
    def before = @first[kind].count
    # How many there are now.
    def now = @last[kind].count

    # JSON-ready.
    def to_h = {kind: kind, before: before, now: now, line: place&.text}

    # Where most of what is new was made: a HeapSample::Place; nil if that is not known.
    def place = @last.since(@first).find { |change| change.kind == kind && change.difference.positive? }&.place
  end
end
