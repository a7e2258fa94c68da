# frozen_string_literal: true

module HeapSample
  # What grows in a process, the largest first: the lines of Survivors, put together by the application's line that led
  # to them.
  module Findings
    # What asks for the VM's own book of heap pages: it grows with what others keep, on whichever line needed a page.
    BOOK = /\Aheap_page_allocate/
    # A finding has such a part of all growth, at least.
    PART_LEAST = 0.02
    MOST = 20
    # A frame in which a file is loaded has one of these labels.
    LOADED = /\A<(?:top \(required\)|class:|module:)/
    # What loads a file once and never again.
    ONCE = /\AKernel#require(?:_relative)?\z/

    module_function

    # call-seq:
    #   Findings.of(survivors) -> Array of Finding
    #
    # Each with the container that keeps it, as far as known.
    def of(survivors)
      profile = survivors.profile
      grown = survivors.groups.values.select { |group| group.born > 0 && !Keys.machinery?(group.key) && !book?(group, profile) && survivors.course(group).grew > 0 }
      containers = survivors.containers
      found = without_loading(grown, survivors, profile).group_by { |group| line_of(group, profile) }.each_value.map do |groups|
        Finding.new(groups, survivors, profile).tap { |finding| finding.keeper = Keeper.of(finding, containers) }
      end
      least = PART_LEAST * found.sum(&:grew)
      found.select { |finding| finding.grew > least }.sort_by { |finding| [finding.steady? ? 0 : 1, -finding.grew] }.first(MOST)
    end

    # A file, with those that it loads, takes so many tenths of the time to load, at most.
    LOADING = 3
    private_constant :LOADING

    # Without the code that was loaded: what is required is loaded once, and of any other file all comes within a while,
    # when it is first needed.  A file that is loaded again and again is left in.
    def without_loading(groups, survivors, profile)
      groups.group_by { |group| loaded_file(group, profile) }.flat_map do |file, same|
        file == :once || (file && SurvivorGroup.sum(same, survivors.moments.size).lump(LOADING) > Finding::LUMP_MOST) ? [] : same
      end
    end

    # The file that was being loaded when most of a group came: the nearest frame of one, if it lies before the
    # application's line or is that line; :once if the application required it; nil if none is.
    def loaded_file(group, profile)
      return unless group.stack

      stacks = profile.stacks
      site = stacks.application_site(group.stack)
      stacks.each_frame_id(group.stack) do |id|
        frame = stacks.frame(id)
        return frame.full_path if LOADED.match?(frame.label)
        return :once if site && ONCE.match?(frame.qualified_label)
        return if id == site
      end
      nil
    end

    def book?(group, profile)
      group.stack && profile.stacks.stack(group.stack).take_while(&:native?).any? { |frame| BOOK.match?(frame.label) }
    end

    # What makes groups one finding: the file and line, be it in a block or in the method around it.
    def line_of(group, profile) = app_line(group, profile)&.then { |place| [place.path, place.line] } || group.key

    # The line of the application by which most of a group came; nil where no line of it is known.
    def app_line(group, profile)
      site = group.stack && profile.stacks.application_site(group.stack)
      site && Place.of(profile.stacks.frame(site))
    end
  end
end
