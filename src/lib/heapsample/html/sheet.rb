# frozen_string_literal: true

module HeapSample
  # The rows of one profile, or of the growth between two, as columns for the
  # HTML view.
  #
  # Stacks are sorted root first. So a stack is written as the number of frames that it
  # shares with the stack before (+keep+), and the frames that follow (+fresh+, how many,
  # and +frames+); rows come in the order of their stacks, which are counted from
  # 0, the empty one.
  class ViewSheet
    SIDES = %i[gained lost].freeze
    # Columns of the schema that rows of all kinds have, but for the thread, which the page has no use for, and the
    # labels, which have a column each.
    # +stack+ is the distance to the stack of the row before. +allocation_gc+ and other values that may be missing are counted from 1: 0 is none.
    OWN = Columns::ALL.reject { |column| column.sum? || column.merge == :drop || column.name == :label_set }.freeze
    # What is computed from a row in addition: two texts, and the frames (of Groups::BY the :line and the
    # :app), which are counted from 1 as well.
    DERIVED = %i[function gem site app].freeze
    SHARED = [*OWN.map(&:name), *DERIVED].freeze

    # Columns of sums that the page shows as bytes alone: whole numbers take half the room.
    WHOLE = %i[holds_free holds_free_pinned unshared].freeze
    # And those that it does not show.
    HIDDEN = %i[holds_free_variance unshared_variance unshared_allocated].freeze
    SUMS = Columns::SUMS.reject { |column| HIDDEN.include?(column.name) }.freeze

    # Columns of the rows of +profile+, by name; of these labels, too.
    def self.of_profile(profile, frames, labels = [])
      sheet = new(frames, labels)
      order = sheet.add(profile.table) { |row| [profile, row] }
      fields = order.map { |index| profile.table[index] }.transpose
      fields = Array.new(Columns::COUNT) { [] } if fields.empty?
      sheet.columns.merge(SUMS.to_h { |column| [column.name, whole(column, fields[column.index])] },
                          profile.holders ? {holder: holders(profile, frames, order)} : {})
    end

    def self.whole(column, numbers) = WHOLE.include?(column.name) ? numbers.map(&:round) : numbers
    private_class_method :whole

    # What retains most of each row, a text; 0 where no holder is known.
    def self.holders(profile, frames, order)
      order.map { |index| profile.nearest_holder.of_row(profile.table[index])&.then { |answer| frames.text(frames.layout.holder(answer)) } || 0 }
    end
    private_class_method :holders

    # Columns of the rows of +growth+, by name.
    def self.of_growth(growth, frames, labels = [])
      sheet = new(frames, labels)
      rows = sheet.add(growth.rows) { |row| [row.row.profile, row.row.columns] }.map { |index| growth.rows[index] }
      SIDES.each do |side|
        estimates = rows.map(&side)
        [*Columns::FIELDS, :objects_variance].each { |field| sheet.columns[:"#{side}_#{field}"] = estimates.map(&field) }
      end
      sheet.columns
    end

    attr_reader :columns

    def initialize(frames, labels = [])
      @frames = frames
      @labels = labels
      @columns = {}
    end

    # Takes rows; the block gives the profile and the columns of each.
    # Returns their indexes in the order of their stacks.
    def add(rows)
      sources = Hash.new { |known, profile| known[profile] = Source.new(profile, @frames, @labels) }.compare_by_identity
      shown = rows.map do |row|
        profile, fields = yield(row)
        sources[profile].fields_of(fields)
      end
      numbers = number_stacks(shown.map(&:first).uniq)
      shown.each { |row| row[0] = numbers[row[0]] }
      order = shown.each_index.sort_by { |index| shown[index][0] }
      fields = order.map { |index| shown[index] }.transpose
      names = [*SHARED, *@labels.map { |name| ViewGroups.of_label(name) }]
      fields = names.map { [] } if fields.empty?
      @columns.update(names.zip(fields).to_h)
      @columns[:stack] = distances(@columns[:stack])
      order
    end

    # What the page gets of the rows of one profile.
    class Source
      def initialize(profile, frames, labels)
        @profile = profile
        @stacks = profile.stacks
        @frames = frames
        @numbers = frames.numbers(@stacks)
        @functions = Keys.new(profile, :function)
        @gems = Keys.new(profile, :gem)
        @labels = labels.map { |name| Keys.new(profile, ViewGroups.of_label(name)) }
        @known = []
      end

      # As SHARED, and the labels; but the stack is what it is sorted by.
      def fields_of(row)
        key, gem, site, app = (@known[row[Columns::STACK]] ||= know(row))
        fields = OWN.map { |column| number(column, row[column.index], key) }
        fields.push(row[Columns::MALLOC] ? @frames.text(@functions.of(row)) : 0, gem, site, app, *@labels.map { |keys| @frames.text(keys.of(row)) })
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

      def number(column, value, key)
        case column.holds
        when :stack then key
        when :text then @frames.text_of(@profile, value)
        when :flag then value ? 1 : 0
        else column.absent.nil? ? (value || -1) + 1 : value
        end
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
