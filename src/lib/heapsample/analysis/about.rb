# frozen_string_literal: true

module HeapSample
  # The header of a profile: the process, the time, the
  # settings, what was dropped, what sampling cost, and how much there is in it.
  class About
    include Analysis

    TEXT = AboutText

    attr_reader :profile, :name

    # call-seq:
    #   About.new(profile, name: nil)
    #
    # +name+ is what the profile is called, its file for instance.
    def initialize(profile, name: nil)
      @profile = profile
      @name = name
    end

    # The same as data.  +meta+ is the whole header of the file, by the names that
    # doc/format.md freezes; its settings are here as well, since they are what one looks for.
    def to_h
      {name: @name, settings: @profile.meta["settings"], drops: @profile.meta["drops"], **counts, meta: @profile.meta}
    end

    # How many rows, stacks and frames there are.
    def counts
      table = @profile.table
      {rows: table.size, malloc_rows: table.count { |row| row[Columns::MALLOC] },
       stacks: table.map { |row| row[Columns::STACK] }.uniq.size, frames: @profile.stacks.frame_count}
    end
  end
end
