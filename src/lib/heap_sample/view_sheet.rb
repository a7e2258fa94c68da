# frozen_string_literal: true

module HeapSample
  # The rows of one profile, or of the growth between two, as columns for the
  # HTML view.
  #
  # Stacks are sorted root first, so that each is told by how many frames it
  # keeps of the one before (+keep+) and by those that follow (+fresh+, how many,
  # and +frames+); rows come in the order of their stacks, which are counted from
  # 0, the empty one.
  class ViewSheet
    ESTIMATES = {inuse: Columns::INUSE, young: Columns::YOUNG, alloc: Columns::ALLOC, dead: Columns::DEAD}.freeze
    FIELDS = %i[samples objects space variance].freeze
    SIDES = %i[gained lost].freeze

    # Columns of the rows of +profile+.
    def self.of_profile(profile, frames)
      sheet = new(frames)
      table = sheet.sort(profile.table) { |row| [profile, row] }
      columns = sheet.columns
      ESTIMATES.each do |name, at|
        FIELDS.each_with_index { |field, offset| columns[:"#{name}_#{field}"] = table.map { |row| row[at + offset] } }
      end
      columns.merge(dead_gcs: table.map { |row| row[Columns::DEAD_GCS] }, memsize: table.map { |row| row[Columns::MEMSIZE] })
    end

    # Columns of the rows of +growth+.
    def self.of_growth(growth, frames)
      sheet = new(frames)
      rows = sheet.sort(growth.rows) { |row| [row.row.profile, row.row.columns] }
      columns = sheet.columns
      SIDES.each do |side|
        estimates = rows.map(&side)
        [*FIELDS, :objects_variance].each { |field| columns[:"#{side}_#{field}"] = estimates.map(&field) }
      end
      columns
    end

    attr_reader :columns

    def initialize(frames)
      @frames = frames
      @columns = {}
    end

    # The rows in the order of their stacks.  The block gives the profile of each
    # and its columns.
    def sort(rows)
      pairs = rows.map { |row| yield(row) }
      keys = pairs.map { |profile, row| stack_key(profile.stacks, row[Columns::STACK]) }
      order = tell_stacks(keys)
      sorted = keys.each_index.sort_by { |index| order[keys[index]] }
      tell_rows(pairs.values_at(*sorted), sorted.map { |index| order[keys[index]] })
      rows.values_at(*sorted)
    end

    private

    # Numbers of frames, root first, in four bytes each: sorted as Strings, stacks
    # that begin alike come together.
    def stack_key(stacks, handle)
      ((@keys ||= {}.compare_by_identity)[stacks] ||= {})[handle] ||= begin
        numbers = @frames.numbers(stacks)
        stacks.frame_ids(handle).map { |id| numbers[id] }.reverse.pack("N*")
      end
    end

    FRAME_BYTES = 4
    EMPTY = ""

    # Stack => its number.
    def tell_stacks(keys)
      sorted = [EMPTY, *keys.uniq.reject(&:empty?).sort]
      keep, fresh, frames = [], [], "".b
      sorted.each_cons(2) do |before, key|
        common = common_frames(before, key)
        keep << common
        frames << key.byteslice(common * FRAME_BYTES..)
        fresh << key.bytesize / FRAME_BYTES - common
      end
      @columns[:keep], @columns[:fresh], @columns[:frames] = keep, fresh, frames.unpack("N*")
      sorted.each_with_index.to_h
    end

    # How many frames two stacks have in common from the root on.
    def common_frames(one, other)
      low = 0
      high = [one.bytesize, other.bytesize].min / FRAME_BYTES
      while low < high
        middle = (low + high + 1) / 2
        if other.start_with?(one.byteslice(0, middle * FRAME_BYTES)) then low = middle
        else high = middle - 1
        end
      end
      low
    end

    # What rows of all kinds have.  A birth is counted from 1, a site too: 0 is none.
    def tell_rows(pairs, stacks)
      functions = Hash.new { |known, profile| known[profile] = Keys.new(profile, :function) }.compare_by_identity
      @columns[:stack] = deltas(stacks)
      {class: Columns::CLASS, type: Columns::TYPE, library: Columns::LIBRARY}.each do |name, at|
        @columns[name] = pairs.map { |profile, row| @frames.text_of(profile, row[at]) }
      end
      @columns[:slot_size] = pairs.map { |_, row| row[Columns::SLOT_SIZE] }
      @columns[:birth] = pairs.map { |_, row| (row[Columns::BIRTH_GC] || -1) + 1 }
      @columns[:malloc] = pairs.map { |_, row| row[Columns::MALLOC] ? 1 : 0 }
      @columns[:function] = pairs.map { |profile, row| row[Columns::MALLOC] ? @frames.text(functions[profile].of(row)) : 0 }
      @columns[:site] = pairs.map { |profile, row| site(profile.stacks, row[Columns::STACK]) }
    end

    def site(stacks, handle)
      id = stacks.site(handle)
      id ? @frames.numbers(stacks)[id] + 1 : 0
    end

    def deltas(ascending)
      before = 0
      ascending.map { |number| (number - before).tap { before = number } }
    end
  end
end
