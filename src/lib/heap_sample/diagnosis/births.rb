# frozen_string_literal: true

module HeapSample
  # What each line of one profile has in use, by the GC count at which it was born.  It is all that Settled has to know
  # of a profile, and far smaller than the profile, so that a series is judged again after each profile without reading
  # its files again.
  class Births
    # Resident bytes, their variance, samples.
    Sum = Struct.new(:space, :variance, :samples) do
      def add(row)
        self.space += row[Columns::RESIDENT]
        self.variance += row[Columns::INUSE_VARIANCE]
        self.samples += row[Columns::INUSE_SAMPLES]
      end
    end

    # Hash of Place => Hash of GC count => Sum.
    attr_reader :lines
    # Containers.blocks of the profile.
    attr_reader :blocks
    # Bytes that were allocated since sampling started: how much the program has worked.
    attr_reader :allocated

    def initialize(profile)
      @lines = {}
      keys = Keys.new(profile, :line)
      live = profile.table.select { |row| row[Columns::INUSE_OBJECTS] > 0 }
      live.each { |row| add(keys.of(row), row) }
      @blocks = Containers.blocks(live, profile, keys)
      @allocated = profile.table.sum { |row| row[Columns::ALLOC_SPACE] }
    end

    private

    def add(line, row)
      birth = row[Columns::BIRTH_GC] or return

      ((@lines[line] ||= {})[birth] ||= Sum.new(0.0, 0.0, 0)).add(row)
    end
  end
end
