# frozen_string_literal: true

module HeapSample
  module Tool
    # Many profiles into one: estimates and variances of rows that agree are added,
    # which makes estimates again (they are of different processes, so of different
    # objects).  One profile after the other is read and forgotten; what is kept
    # grows with the number of different rows, and that is bounded: see #make_room.
    #
    # What only means something within a process is made to mean something here,
    # or left out:
    # - the GC count of an allocation becomes an age: it is moved by as much as the GC count
    #   of its process is behind the largest one;
    # - threads go;
    # - holders are matched by their names (MergedHolders);
    # - native code is where it is in its file: every library gets a range of
    #   addresses of its own;
    # - of several profiles of one process the last counts: their sum would count
    #   objects twice.
    class Merge
      ROWS_MAX = 1_000_000
      # Ages below this are exact; above, so many per doubling are distinguished when room is made.
      AGES_EXACT = 16
      EVICTED = "(evicted)"
      LIBRARY_RANGE = 1 << 40
      # Columns that identify a row, in addition to the stack and the age; and the columns that are added up.
      KEY = Columns::ALL.select { |column| column.merge == :same && column.name != :stack }.freeze
      SUMS = Columns::ALL.select { |column| column.merge == :add }.map(&:index).freeze

      # call-seq:
      #   Merge.last_of_each(profiles) -> Array of paths
      #
      # +profiles+: what Merge.about gave for each.  The last profile of each process: see above.  A profile
      # without its process counts as a process of its own.
      def self.last_of_each(profiles)
        last = {}
        profiles.each_with_index do |(path, process, taken), index|
          known = last[process || index]
          last[process || index] = [path, taken, index] if known.nil? || (taken || Time.at(0)) > (known[1] || Time.at(0))
        end
        last.values.sort_by(&:last).map(&:first)
      end

      # The path of a profile, its process, and its time: all that is held of each file.
      def self.about(path) = Meta.new(Inputs.meta(path)).then { |meta| [path, meta.process_start, meta.taken] }

      attr_reader :profiles
      attr_writer :rows_max

      def initialize(rows_max: ROWS_MAX)
        @rows_max = rows_max
        @meta = MergedMeta.new
        @holders = MergedHolders.new
        @profiles = 0
        @evicted = 0
        clear
      end

      # A Merge from another process is its profile, and cannot be added to. A file would not do: it rounds variances.
      def marshal_dump = [@profiles, profile]
      def marshal_load((profiles, profile)) = (@profiles, @profile = profiles, profile)

      # Adds a HeapSample::Profile.
      def add(profile)
        @profiles += 1
        @meta.add(profile.meta)
        stacks = {}
        frames = []
        gc_count = profile.info.gc_count
        merged = {}.compare_by_identity
        profile.table.each do |row|
          stack = stacks[row[Columns::STACK]] ||= stack(profile.stacks, row[Columns::STACK], frames)
          allocation_gc = row[Columns::ALLOCATION_GC]
          age = allocation_gc && gc_count ? [gc_count - allocation_gc, 0].max : nil
          merged[row] = add_row(stack, age, KEY.map { |column| column.text? ? text(profile.text(row[column.index])) : row[column.index] }, row)
        end
        @holders.add(profile, merged)
        make_room if @rows.size > @rows_max
        self
      end

      # The sum, a HeapSample::Profile.  +files+: how many there were, with those
      # that did not count.
      def profile(files: @profiles)
        return @profile if @profile

        meta = @meta.to_h(files: files, evicted: @evicted)
        gc_count = meta.dig("gc", "count")
        rows = @rows.map do |(stack, age, *), row|
          row[Columns::STACK] = stack
          row[Columns::ALLOCATION_GC] = age && gc_count ? gc_count - age : nil
          row
        end
        Profile.new(meta: meta, texts: @texts_list, stacks: @stacks, rows: rows, holders: @holders.holders)
      end

      private

      def clear
        @texts = {"" => 0}
        @fields = []
        @frames = {}
        @lists = Hash.new { |known, id| known[id] = Protobuf.encode(id).freeze }
        @libraries = {}
        @mappings = []
        @texts_list = [""]
        @stacks = MergedStacks.new(@texts_list, @fields, @mappings)
        @rows = {}
      end

      def text(text)
        @texts[text] ||= begin
          @texts_list << text
          @texts.size
        end
      end

      def add_row(stack, age, key, row)
        sum = @rows[[stack, age, *key]]
        unless sum
          sum = @rows[[stack, age, *key]] = Array.new(Columns::COUNT, 0)
          KEY.each_with_index { |column, index| sum[column.index] = key[index] }
        end
        SUMS.each { |column| sum[column] += row[column] }
        sum
      end

      def stack(stacks, handle, frames)
        @stacks.intern(stacks.frame_ids(handle).map { |id| @lists[frames[id] ||= frame(stacks, id)] }.join)
      end

      def frame(stacks, id)
        label, path, absolute_path, line, address = stacks.fields(id)
        address = address_in(path, stacks.mapping(address), address) if address > 0 && !path.empty?
        @frames[[label, path, absolute_path, line, address]] ||= begin
          @fields.push(text(label), text(path), text(absolute_path), line, address)
          @frames.size
        end
      end

      # Where code is in its file, put into the library's own range.
      def address_in(path, mapping, address)
        start = @libraries[path] ||= begin
          start = (@libraries.size + 1) * LIBRARY_RANGE
          @mappings << [start, start + LIBRARY_RANGE, 0]
          start
        end
        start + (mapping ? address - mapping[0] + mapping[2] : address) % LIBRARY_RANGE
      end

      # Too many rows: ages are rounded, by an eighth at most; if that is not enough,
      # the smallest rows lose their stack, until half as many as may be are left.  Sums stay.
      def make_room
        rebuild { |stack, age| [stack, age && rounded(age)] }
        return if @rows.size <= @rows_max / 2

        sizes = @rows.map { |_, row| row[Columns::INUSE_SPACE] + row[Columns::ALLOC_SPACE] }
        limit = sizes.sort[-@rows_max / 2]
        rebuild do |stack, age, row|
          next [stack, age] if row[Columns::INUSE_SPACE] + row[Columns::ALLOC_SPACE] > limit

          @evicted += 1
          [nil, nil]
        end
      end

      def rounded(age)
        return age if age < AGES_EXACT

        step = 1 << (age.bit_length - 4)
        age / step * step
      end

      # All tables anew, with what is still used.
      def rebuild
        rows, stacks, texts = @rows, @stacks, @texts_list
        clear
        handles = {}
        frames = []
        rows.each do |(handle, age, *key), row|
          handle, age = yield(handle, age, row)
          stack = handle ? handles[handle] ||= stack(stacks, handle, frames) : evicted_stack
          key = key.zip(KEY).map { |value, column| column.text? ? text(texts[value]) : value }
          @holders.move(row, add_row(stack, age, key, row))
        end
      end

      def evicted_stack
        @frames[EVICTED] ||= begin
          @fields.push(text(EVICTED), 0, 0, 0, 0)
          @frames.size
        end
        @stacks.intern(@lists[@frames[EVICTED]])
      end
    end
  end
end
