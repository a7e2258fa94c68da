# frozen_string_literal: true

module HeapSample
  module Dump
    # In which of several dumps of a process each object appeared first.
    #
    # An object of one dump is an object of the dump before if it has the same address, class, type and slot size, and the same line and
    # generation as far as both dumps have these.  A slot that was freed and used again by an object of another class or line is a
    # new object.  Two things no dump shows:
    #
    # - whether a slot was used again by an object of the same class, where its allocation was not traced: it counts as the old one;
    # - which object is which after GC.compact has moved objects.  Classes are moved, too: one of them at another address shows
    #   that it ran.  Then generations decide, if allocations were traced, and else totals are compared.
    class Ages
      # Classes at another address, as a part of all: fewer may be classes that the program has loaded again.
      MOVED_LEAST = 0.02

      # call-seq:
      #   Ages.of(profiles) -> Ages or nil
      #
      # nil unless all are heap dumps.
      def self.of(profiles) = profiles.all?(&:dump) && profiles.none?(&:filtered) ? new(profiles) : nil

      # The profiles.  Dump 1 has GC count 2, and its objects 1; dump 2 has GC count 4, and its new objects 3, and so on: all objects are
      # from between two dumps.
      attr_reader :profiles
      # A sentence: how objects were recognised, and what is not known.
      attr_reader :note

      def initialize(profiles)
        @given = profiles
        @processes = profiles.map { |profile| profile.info.process_start }.uniq
        @profiles = if @processes.size > 1 || @processes == [nil] then apart("The dumps are of several processes, so objects cannot be recognised: totals are compared.")
                    elsif moved? then by_generation || apart("GC.compact has moved objects between the dumps, so addresses do not identify them: totals are compared. #{TRACE}")
                    else by_address
                    end
      end

      TRACE = "Call ObjectSpace.trace_object_allocations_start before the first dump to distinguish objects."
      private_constant :TRACE

      private

      # Did classes get other addresses?
      def moved?
        @given.each_cons(2).any? do |earlier, later|
          before, now = earlier.dump.classes.unique, later.dump.classes.unique
          both = before.keys & now.keys
          both.count { |name| before[name] != now[name] } > MOVED_LEAST * both.size
        end
      end

      # Without a process in common.
      def apart(note)
        @note = note
        @given.map { |profile| copy(profile, profile.table, profile.meta.except("process_start")) }
      end

      # Generations show what was allocated since, if the first dump has them already.
      def by_generation
        return unless @given.all? { |profile| profile.dump.traced? && profile.info.gc_count }

        @note = "GC.compact has moved objects between the dumps, so generations identify them. Objects whose allocation was not traced count as older."
        @given
      end

      def by_address
        traced = @given.all? { |profile| profile.dump.traced? }
        @note = "Objects are recognised by address, class#{", line and generation where they were traced" if traced}. " \
                "#{"A slot that was used again by an object of the same class counts as the old object. #{TRACE}" unless traced}".rstrip
        before = {}
        @given.each.with_index(1).map do |profile, number|
          now = {} unless number == @given.size
          table = divided(profile, number, before, now)
          before = now
          copy(profile, table, profile.meta.merge("gc" => {"count" => 2 * number}))
        end
      end

      # Rows by the dump in which their objects appeared; +before+: address => kind of the object, and that dump.  +now+ gets these.
      def divided(profile, number, before, now)
        kinds = profile.dump.rows.map { |row| kind(profile, row) }
        numbers = {}.compare_by_identity
        first = profile.dump.rows.each_with_index.map { |row, at| numbers[row] ||= at }
        counts, sums = Hash.new(0), Hash.new(0)
        profile.dump.objects.each do |address, row, bytes|
          known = before[address]
          born = known && same?(known >> BORN_BITS, kinds[row]) ? known & BORN_MOST : number
          counts[key = (first[row] << BORN_BITS) | born] += 1
          sums[key] += bytes
          now[address] = (kinds[row] << BORN_BITS) | born if now
        end
        counts.map { |key, objects| part(profile.dump.rows[key >> BORN_BITS], key & BORN_MOST, objects, sums[key]) }
      end

      BORN_BITS = 6
      BORN_MOST = (1 << BORN_BITS) - 1
      private_constant :BORN_BITS, :BORN_MOST

      # A number: equal for rows whose objects can be the same.
      def kind(profile, row)
        @kinds ||= {}
        @interner ||= {}
        stack = profile.stacks.identity(row[Columns::STACK], @interner)
        untraced = [profile.text(row[Columns::CLASS]), profile.text(row[Columns::TYPE]), row[Columns::SLOT_SIZE]]
        found = @kinds[[untraced, row[Columns::ALLOCATION_GC] && stack, row[Columns::ALLOCATION_GC]]] ||= begin
          (@parts ||= []) << [untraced, !row[Columns::ALLOCATION_GC].nil?]
          @parts.size - 1
        end
        found
      end

      # Where one of the two was not traced, as after trace_object_allocations_stop, the class decides.
      def same?(kind, other)
        return true if kind == other

        (one, traced), (two, also) = @parts[kind], @parts[other]
        traced && !also && one == two
      end

      # Some objects of a row, as a row.
      def part(row, born, objects, bytes)
        columns = row.dup
        columns[Columns::ALLOCATION_GC] = 2 * born - 1
        {Columns::INUSE_SAMPLES => objects, Columns::INUSE_OBJECTS => objects, Columns::INUSE_SPACE => bytes, Columns::MEMSIZE => bytes, Columns::RESIDENT => bytes}.each { |at, value| columns[at] = value }
        columns
      end

      def copy(profile, table, meta)
        Profile.new(meta: meta, texts: profile.texts, stacks: profile.stacks, rows: table, dump: profile.dump)
      end
    end
  end
end
