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
    # What rows of all kinds have.  +stack+ is the distance to that of the row
    # before; +birth+ and the frames +site+ and +app+ (of Groups::KINDS the :line and
    # the :app) are counted from 1: 0 is none.
    SHARED = %i[stack class type slot_size birth malloc library function gem site app].freeze

    # Columns of the rows of +profile+, by name.
    def self.of_profile(profile, frames)
      sheet = new(frames)
      order = sheet.add(profile.table) { |row| [profile, row] }
      fields = order.map { |index| profile.table[index] }.transpose
      fields = Array.new(Columns::COUNT) { [] } if fields.empty?
      ESTIMATES.each do |name, at|
        FIELDS.each_with_index { |field, offset| sheet.columns[:"#{name}_#{field}"] = fields[at + offset] }
      end
      sheet.columns.merge(dead_gcs: fields[Columns::DEAD_GCS], memsize: fields[Columns::MEMSIZE], resident: fields[Columns::RESIDENT])
    end

    # Columns of the rows of +growth+, by name.
    def self.of_growth(growth, frames)
      sheet = new(frames)
      rows = sheet.add(growth.rows) { |row| [row.row.profile, row.row.columns] }.map { |index| growth.rows[index] }
      SIDES.each do |side|
        estimates = rows.map(&side)
        [*FIELDS, :objects_variance].each { |field| sheet.columns[:"#{side}_#{field}"] = estimates.map(&field) }
      end
      sheet.columns
    end

    attr_reader :columns

    def initialize(frames)
      @frames = frames
      @columns = {}
    end

    # Takes rows, of each of which the block gives the profile and the columns.
    # Returns their indexes in the order of their stacks.
    def add(rows)
      sources = Hash.new { |known, profile| known[profile] = Source.new(profile, @frames) }.compare_by_identity
      told = rows.map do |row|
        profile, fields = yield(row)
        sources[profile].tell(fields)
      end
      numbers = number_stacks(told.map(&:first).uniq)
      told.each { |row| row[0] = numbers[row[0]] }
      order = told.each_index.sort_by { |index| told[index][0] }
      fields = order.map { |index| told[index] }.transpose
      fields = SHARED.map { [] } if fields.empty?
      @columns.update(SHARED.zip(fields).to_h)
      @columns[:stack] = distances(@columns[:stack])
      order
    end

    # What the page is told of the rows of one profile.
    class Source
      def initialize(profile, frames)
        @profile = profile
        @stacks = profile.stacks
        @frames = frames
        @numbers = frames.numbers(@stacks)
        @functions = Keys.new(profile, :function)
        @gems = Keys.new(profile, :gem)
        @known = []
      end

      # As SHARED, but the stack is what it is sorted by.
      def tell(row)
        malloc = row[Columns::MALLOC]
        key, gem, site, app = (@known[row[Columns::STACK]] ||= know(row))
        [key, text(row[Columns::CLASS]), text(row[Columns::TYPE]), row[Columns::SLOT_SIZE], (row[Columns::BIRTH_GC] || -1) + 1,
         malloc ? 1 : 0, text(row[Columns::LIBRARY]), malloc ? @frames.text(@functions.of(row)) : 0, gem, site, app]
      end

      private

      # Numbers of frames, root first, in four bytes each: sorted as Strings,
      # stacks that begin alike come together.
      def know(row)
        handle = row[Columns::STACK]
        numbers = []
        @stacks.each_frame_id(handle) { |id| numbers << @numbers[id] }
        sites = [@stacks.site(handle), @stacks.application_site(handle) || @stacks.site(handle)]
        [numbers.reverse!.pack("N*"), @frames.text(@gems.of(row)), *sites.map { |site| site ? @numbers[site] + 1 : 0 }]
      end

      def text(reference)
        @frames.text_of(@profile, reference)
      end
    end

    private

    FRAME_BYTES = 4
    EMPTY = ""
    private_constant :FRAME_BYTES, :EMPTY

    # Stack => its number.
    def number_stacks(keys)
      sorted = [EMPTY, *keys.reject(&:empty?).sort!]
      keep, fresh, frames = [], [], "".b
      sorted.each_cons(2) do |before, key|
        common = common_frames(before, key)
        keep << common
        frames << key.byteslice(common * FRAME_BYTES..)
        fresh << key.bytesize / FRAME_BYTES - common
      end
      @columns.update(keep: keep, fresh: fresh, frames: frames.unpack("N*"))
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

    def distances(ascending)
      before = 0
      ascending.map { |number| (number - before).tap { before = number } }
    end
  end
end
