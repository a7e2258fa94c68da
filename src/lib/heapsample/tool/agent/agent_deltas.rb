# frozen_string_literal: true

require "stringio"
require "zlib"

module HeapSample
  module Tool
    # What a process has allocated since the last answer, by stack and labels, and what is live. The sum of all answers is
    # what it has allocated since sampling started. A file cuts small stacks to their line, below (evicted): what one stack
    # of a line has lost and another one has gained was reported before. Where the estimate of a line has become smaller,
    # it counts again when it is above the largest value that was reported: no answer has negative values.
    class AgentDeltas
      STACKS_MOST = 100_000

      # {id of stack and labels => [id of line and labels, objects, bytes]}: what the answers have had so far. The stack that
      # was not seen for the longest time comes first.
      def initialize = (@lock, @reported = Mutex.new, {})

      # The block takes the bytes of a profile; the next request waits for it. Returns pprof; +first+: the type that readers
      # show first. Raises AgentRefusal and FormatError.
      def since_last(first = "inuse_space")
        @lock.synchronize { AgentProfile.of(yield).then { |profile| change(profile) { |from| profile.to_gz(from, first: first) } } }
      end

      # Takes from the profile what was reported, and yields the time since when its allocations are. They count as reported
      # when the block has returned. +before+: what a process whose sampling started before that time has allocated was
      # reported by others, and what a forked process has from its parent is the parent's: the first profile has no allocations.
      def change(profile, before: nil)
        now, info = profile.stacks, profile.info
        raise AgentRefusal.new(503, "The profile has more than #{STACKS_MOST} stacks. Use /debug/pprof/heap.") if now.size > STACKS_MOST

        same = @last&.same_run?(info) && @last.started == info.started
        if same || before.nil? || info.started.nil? || (info.started >= before && !inherits?(info))
          reported = count(now, same ? @reported : {})      # anew, if sampling has started again, or another program has
        else
          from = info.taken
          reported = now.transform_values { |line, values| [line, *values.shift(2)].tap { values.unshift(0, 0) } }
        end
        reported.shift while reported.size > STACKS_MOST
        yield(same ? @last.taken : from || info.started).tap { @reported, @last = reported, info }
      end

      private

      # Was the process forked after sampling had started? Where it was not, no clock is compared: Meta#began is the difference of
      # a clock that may have been set and one that was not.
      def inherits?(info) = (info.inherited_pages || info.inherited_missing) && !(info.began && info.began < info.started)

      # What is reported after this answer. The values of +now+ become the values of the answer.
      def count(now, old)
        after = old.except(*now.keys).transform_values(&:dup)
        now.each { |id, (line, _)| after[id] = old[id]&.dup || [line, 0, 0] }
        after.group_by { |_, stack| stack.first }.each_value do |stacks|
          list = stacks.map { |id, stack| [stack, now[id]&.last] }
          2.times { |type| count_line(list, type) }
        end
        after
      end

      def count_line(stacks, type)
        changes = stacks.map { |reported, values| (values ? values[type] : 0) - reported[type + 1] }
        gained, lost = changes.partition(&:positive?).map { |some| some.sum.abs }
        gained = lost = [gained, lost].min
        stacks.zip(changes) do |(reported, values), change|
          gained -= own = change.positive? ? [change, gained].min : 0
          lost -= other = change.negative? ? [-change, lost].min : 0
          reported[type + 1] += change.positive? ? change : -other
          values[type] = [change, 0].max - own if values
        end
      end
    end

    # A profile of the sampler in the form that Go's heap profiles have, which receivers such as Alloy need: four values to a
    # sample, and samples that are the same if addresses and labels are. The labels are the ones that the program has set:
    # class and age as labels would make thousands of series. It is read without its rows, and the lists of locations are
    # written as they were read: that takes a third of the time.
    class AgentProfile < PprofReader
      TYPES = PprofWriter::TYPES
      OTHER = "(other)"
      # What receivers accept: see doc/agent.md.
      SAMPLES_MOST, BYTES_MOST = 16_000, 4 << 20
      # Bytes of a piece of a list of locations; a number as it is encoded.
      PIECE, NUMBER = 24, /[\x80-\xff]*[\0-\x7f]/n
      # The location of a Ruby frame as the sampler writes it: id, address and function. The lowest bits of the address are
      # the line, so it begins with NO_LINE where there is none.
      RUBY_LOCATION = /\A\x08(#{NUMBER})\x10\x01\x18([\x80-\xff]{8}\x40)\x22.\x08(#{NUMBER})/mn
      NO_LINE = "\x80\x80\x80".b.freeze

      # info: the Meta; values: {labels as one text => {packed locations => four Integers}}.
      attr_reader :info, :values

      # Raises FormatError.
      def self.of(bytes, name = "a profile") = reading(StringIO.new(bytes), name, AgentProcess::DECODED_MOST, &:load)

      def load
        scan
        @info = Meta.new(read_meta)
        read_texts
        read_types
        raise Protobuf::Malformed, "it is no profile of the sampler" unless @meta && type_names(Field::SAMPLE_TYPE) == TYPES.map(&:first)

        read_places
        read_values_by_labels
        self
      end

      # {id => [id of the line, four values]}. An id is of stack and labels, and the same in all profiles of a process.
      def stacks
        @values.each_with_object({}) do |(labels, lists), all|
          lists.each { |list, values| identity(list).then { |stack, line| all[[stack, labels].hash] = [[line, labels].hash, values] } }
        end
      end

      # Other labels; the block has the text of the new ones. Samples that then agree are one.
      def relabel
        @values = @values.each_with_object({}) { |(labels, lists), all| (all[yield(labels)] ||= {}).merge!(lists) { |_, *both| both.transpose.map(&:sum) } }
      end

      # Bytes of each label set, of allocated and of live memory.
      def sizes = @values.transform_values { |lists| lists.each_value.sum { |values| size(values) } }

      # What is beyond the limits of receivers becomes one stack for each label set: the smallest samples. +labels+: as in #to_gz.
      def limit(labels)
        most = SAMPLES_MOST - @values.size
        fold(most) if count > most
        while @data.bytesize > BYTES_MOST / 2 && most.positive? && (size = encode(nil, "", labels, TYPES, TYPES.each_index).bytesize) > BYTES_MOST
          fold(most = [most, count].min * (BYTES_MOST / 1024) / (size / 1024) * 9 / 10)
        end
      end

      # pprof; +from+: a Time, when the values begin; +first+: the type that readers show first; +labels+: a Hash, of all
      # samples; +types+: names and units of the +columns+.
      def to_gz(from, first: "inuse_space", labels: {}, types: TYPES, columns: types.each_index)
        Zlib.gzip(encode(from, first, labels, types, columns), level: Zlib::BEST_SPEED)
      end

      private

      # By id: address and function, as they are encoded, and where the location is; hashes of the address, of all and of those with a line.
      def read_places
        @places, @hashes, @lines, @pieces, @identities = {}, {}, {}, {}, {}
        @spans[Field::LOCATION].each_slice(2) do |from, to|
          id, address, function = @data.byteslice(from, to - from).match(RUBY_LOCATION)&.captures || any_place(from, to)
          id = Protobuf.new(id).varint
          @places[id], @hashes[id] = [address, function, from, to], hash = address.hash
          @lines[id] = hash if function && !address.start_with?(NO_LINE)
        end
      end

      def any_place(from, to)
        fields = {1 => 0, 3 => 0}
        Protobuf.new(@data, from, to).each_field { |number, value, stop| fields[number] = value unless stop }
        fields.values_at(1, 3).map { |value| Protobuf.encode(value) }
      end

      def read_values_by_labels
        @values, known = {}, Hash.new { |all, packed| all[packed] = four(packed) }
        each_sample do |list, packed, labels,|
          sums = (@values[@texts[labels.last]] ||= {})[list]
          sums ? sums.each_index { |type| sums[type] += known[packed][type] } : @values[@texts[labels.last]][list] = known[packed].dup
        end
      end

      def four(packed)
        values = Protobuf.packed(packed, 0, packed.bytesize, TYPES.size)
        values.size == TYPES.size && values.max <= PprofWriter::VALUE_MAX ? values : raise(Protobuf::Malformed, wrong_values(values.size))
      end

      # Of a stack and its line: a stack that the file has cut is of the same line.
      def identity(list)
        @identities[list] ||= begin
          count_frames(list)
          read = pieces(list).map { |piece| @pieces[piece] ||= addresses(piece) }
          [read.flat_map(&:first).hash, read.find { |_, line| line }&.at(1)]
        end
      end

      # The outer frames of many stacks are the same: so a list is read in pieces from its end.
      def pieces(list, to = list.bytesize, pieces = [])
        return pieces.unshift(list.byteslice(0, to)) if to <= PIECE

        from = (to - PIECE...to).find { |at| list.getbyte(at - 1) < 0x80 } || missing
        pieces(list, from, pieces.unshift(list.byteslice(from, to - from)))
      end

      # Of some frames: hashes of the addresses (of the first one with its line), and ids.
      def addresses(piece)
        ids = Protobuf.packed(piece, 0, piece.bytesize)
        hashes = @hashes.values_at(*ids)
        hashes.include?(nil) ? missing : [hashes, @lines.values_at(*ids).find(&:itself), ids]
      end

      def missing = raise(Protobuf::Malformed, "a location is missing (cut off?)")

      def size(values) = values[1] + values[3]
      def count = @values.each_value.sum(&:size)

      def fold(most)
        all = @values.flat_map { |labels, lists| lists.map { |list, values| [size(values), labels, list] } }
        all.sort_by!(&:first).first([all.size - most, 0].max).each do |_, labels, list|
          sums = @values[labels].delete(list).zip(@values[labels][other] || [0, 0, 0, 0]).map(&:sum)
          @values[labels][other] = sums
        end
      end

      # The list of a stack that stands for others.
      def other
        @other ||= Protobuf.encode((@places.keys.max.to_i + 1).tap { |id| @hashes[id] = @places[id] = [Protobuf.encode(PprofAddresses.new.take(OTHER, "", 0))] })
      end

      def encode(from, first, labels, types, columns)
        @strings, out = {"" => 0}, "".b
        columns.each { |column| out << message(1, type(*types[column])) }
        used = write_samples(out, labels, columns)
        out << message(3, number(1, 1) + number(2, PprofAddresses::START) + number(3, PprofAddresses::LIMIT) + number(5, string("ruby")) + [7, 8, 9].map { |flag| number(flag, 1) }.join)
        write_places(out, used.flat_map { |list| pieces(list) }.uniq.flat_map { |piece| (@pieces[piece] ||= addresses(piece)).last }.uniq.to_h { |id| [id, true] })
        out << times(from) << message(11, type("space", "bytes")) << number(12, info.interval || 0) << number(14, string(first))
        @strings.each_key { |text| out << message(6, text.b) }
        out
      end

      # Returns the lists that are there.
      def write_samples(out, labels, columns)
        numbers = Hash.new { |known, value| known[value] = Protobuf.encode(value) }
        @values.each_with_object([]) do |(set, lists), used|
          shown = {**labels, **Labels.parse(set)}.map { |name, value| message(3, number(1, string(name)) + number(2, string(value.to_s))) }.join
          lists.each do |list, values|
            next if columns.all? { |column| values[column].zero? }

            used << list
            out << message(2, message(1, list) + message(2, columns.map { |column| numbers[values[column]] }.join) + shown)
          end
        end
      end

      # Receivers want ids without gaps: what is not used is there with its id alone. Native code has no mapping here, and gets functions of its own.
      def write_places(out, used)
        @functions, @mappings, shown = read_functions, read_mappings, {}
        added = Hash.new { |ids, names| ids[names] = @functions.keys.max.to_i + ids.size + 1 }
        @places.each do |id, (address, function, from, to)|
          next (shown[function] = true) && out << message(4, @data.byteslice(from, to - from)) if used[id] && function

          other = "\x18".b + address + message(4, number(1, added[from ? native(from, to) : [OTHER, ""]])) if used[id]
          out << message(4, number(1, id) + number(2, 1) + other.to_s)
        end
        @functions.each { |id, (name, path)| out << message(5, number(1, id) + (shown[Protobuf.encode(id)] ? number(2, string(@texts[name])) + number(4, string(@texts[path])) : "")) }
        added.each { |(name, path), id| out << message(5, number(1, id) + number(2, string(name)) + number(4, string(path))) }
      end

      # Name and path.
      def native(from, to)
        name, path = read_location(Protobuf.new(@data, from, to)).last.first.to_a.first(2).map { |text| @texts[text] }
        [name.to_s.empty? ? "[#{File.basename(path.to_s)}]" : CPlusPlus.readable(name), path.to_s]
      end

      def times(from) = number(9, nanoseconds(info.taken)) + number(10, from && info.taken ? [nanoseconds(info.taken - from), 0].max : 0)
      def nanoseconds(time) = (time.to_r * 1_000_000_000).to_i
      def type(type, unit) = number(1, string(type)) + number(2, string(unit))
      def string(text) = @strings[text] ||= @strings.size
      def number(field, value) = value.zero? ? "".b : Protobuf.encode(field << 3) + Protobuf.encode(value)
      def message(field, bytes) = Protobuf.encode(field << 3 | Protobuf::BYTES) + Protobuf.encode(bytes.bytesize) + bytes
    end
  end
end
