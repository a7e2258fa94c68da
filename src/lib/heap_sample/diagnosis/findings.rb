# frozen_string_literal: true

module HeapSample
  # What grows in a process, the largest first: the lines of Settled, put together by the application's line that led
  # to them.
  module Findings
    # Lines that are no one's: Ruby's own bookkeeping, which grows with what others keep.
    NOBODY = /\A\((?:GC|YJIT|the sampler)\)\z/
    # A finding has such a part of all growth, at least.
    PART_LEAST = 0.02
    MOST = 20

    module_function

    # call-seq:
    #   Findings.of(settled) -> Array of Finding
    def of(settled)
      profile = settled.profile
      grown = settled.groups.values.select { |group| group.born > 0 && !NOBODY.match?(group.key.label.to_s) && settled.course(group).grew > 0 }
      found = grown.group_by { |group| app_line(group, profile) || group.key }.map do |place, groups|
        Finding.new(groups, settled, (place if app_line(groups.first, profile)), profile)
      end
      least = PART_LEAST * found.sum(&:grew)
      found.select { |finding| finding.grew > least }.sort_by { |finding| [finding.steady? ? 0 : 1, -finding.grew] }.first(MOST)
    end

    # The line of the application by which most of a group came; nil where no line of it is known.
    def app_line(group, profile)
      site = group.stack && profile.stacks.application_site(group.stack)
      return unless site

      frame = profile.stacks.frame(site)
      Place.new(frame.full_path, frame.lineno, frame.qualified_label)
    end
  end
end
