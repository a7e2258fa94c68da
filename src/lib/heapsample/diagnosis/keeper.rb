# frozen_string_literal: true

module HeapSample
  # Which of the containers that grow keeps a finding?  No reference is walked: it is the container that is filled at
  # the finding's line, or nearest to it, and large enough to hold a good part of its objects.  One that is only near, in
  # the same file or nowhere near, is a guess, and is called so.
  module Keeper
    # A container has a word, at least, for each object that it keeps; but one object of a finding may bring others.
    ENTRY = 8
    OBJECTS_AN_ENTRY = 200
    # #nearness from which it is no guess: the method is the same.
    SURE = 3

    module_function

    # The Containers::Container, nil if none is near.
    def of(finding, containers)
      near = containers.map { |container| [nearness(finding, container), container] }.select { |score, container| score > 0 && large_enough?(finding, container) }
      near.max_by { |score, container| [score, container.grew] }&.last
    end

    # Is the container of a finding no guess?
    def sure?(finding) = nearness(finding, finding.keeper) >= SURE

    def nearness(finding, container)
      lines = [finding.line, finding.app_line].compact
      keeps = [container.line, container.app_line].compact
      return 4 if lines.any? { |line| keeps.any? { |keep| keep.path == line.path && keep.line == line.line } }
      return 3 if lines.any? { |line| keeps.any? { |keep| keep.path == line.path && keep.label == line.label } }
      return 2 if lines.any? { |line| keeps.any? { |keep| keep.path == line.path } }

      1
    end

    def large_enough?(finding, container)
      container.bytes / ENTRY * OBJECTS_AN_ENTRY >= finding.objects
    end
  end
end
