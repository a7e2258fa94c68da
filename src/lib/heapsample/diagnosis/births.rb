# frozen_string_literal: true

module HeapSample
  # What each line of one profile has in use, by the GC count at which it was born.  It is all
  # that Survivors has to know of a profile, and far smaller than the profile, so that a series is judged again after each
  # profile without reading its files again.
  class Births
    # Resident bytes, their variance, samples.
    Sum = Struct.new(:space, :variance, :samples) do
      def add(row)
        self.space += row[Columns::RESIDENT]
        self.variance += row[Columns::INUSE_VARIANCE]
        self.samples += row[Columns::INUSE_SAMPLES]
      end
    end

    # Hash of a line's Place => Hash of GC count => Sum.
    attr_reader :groups
    # Containers.blocks of the profile.
    attr_reader :blocks
    # Objects and blocks that were allocated since sampling started and are not in use any more: how much the program has worked.
    # What stays is no measure of that: of a pool that has grown less is allocated, while the work goes on.  Nor are bytes: a
    # few large buffers would outweigh all requests.
    attr_reader :used_up

    def initialize(profile)
      @groups = {}
      keys = Keys.new(profile, :line)
      live = Births.rows(profile)
      live.each { |row| add(keys.of(row), row) }
      @blocks = Containers.blocks(live, profile, keys)
      @used_up = profile.table.sum { |row| [row[Columns::ALLOC_OBJECTS] - row[Columns::INUSE_OBJECTS], 0].max }
    end

    # Rows of what is in use.
    def self.rows(profile) = profile.table.select { |row| row[Columns::INUSE_OBJECTS] > 0 }

    private

    def add(key, row)
      birth = row[Columns::BIRTH_GC] or return

      ((@groups[key] ||= {})[birth] ||= Sum.new(0.0, 0.0, 0)).add(row)
    end
  end
end
