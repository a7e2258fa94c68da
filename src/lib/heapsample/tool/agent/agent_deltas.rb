# frozen_string_literal: true

require "digest"
require "zlib"

module HeapSample
  module Tool
    # What a process has allocated since the last answer, by stack and labels, and what is live. The sum of all answers is
    # what it has allocated since sampling started. A file cuts small stacks to their line, below (evicted): what one stack
    # of a line has lost and another one has gained was reported before. Where the estimate of a line has become smaller,
    # it counts again when it is above the largest value that was reported: no answer has negative values.
    class AgentDeltas
      STACKS_MOST = 100_000

      # reported: objects and bytes that answers have had so far; now: the values of this answer's profile.
      Stack = Struct.new(:line, :reported, :now)

      def initialize = (@lock, @reported = Mutex.new, {})

      # The block takes a Profile; the next request waits for it. Returns pprof; +first+: the type that readers show first.
      # Raises AgentRefusal.
      def since_last(first = "inuse_space")
        @lock.synchronize do
          profile = AgentProfile.new(yield)
          raise AgentRefusal.new(503, "The profile has more than #{STACKS_MOST} stacks. Use /debug/pprof/heap.") if profile.values.size > STACKS_MOST

          info, last, @last = profile.info, @last, profile.info
          same = last && info.same_run?(last) && info.started == last.started
          @reported.clear unless same         # sampling has started again, or another program has: it counts from 0
          count(profile)
          @reported.shift while @reported.size > STACKS_MOST        # not seen for the longest time
          profile.to_gz(same ? last.taken : info.started, first)
        end
      end

      private

      def count(profile)
        profile.values.each do |key, values|
          id = Digest::SHA256.digest(key.map(&:b).join)[0, 16]
          stack = @reported.delete(id) || Stack.new(profile.line(key), [0, 0])
          @reported[id] = stack.tap { stack.now = values }
        end
        @reported.values.group_by(&:line).each_value { |stacks| 2.times { |type| count_line(stacks, type) } }
        @reported.each_value { |stack| stack.now = nil }
      end

      def count_line(stacks, type)
        changes = stacks.map { |stack| (stack.now ? stack.now[type] : 0) - stack.reported[type] }
        gained, lost = changes.partition(&:positive?).map { |some| some.sum.abs }
        moved = [gained, lost].min
        gained, lost = moved, moved
        stacks.zip(changes) do |stack, change|
          gained -= own = change.positive? ? [change, gained].min : 0
          lost -= other = change.negative? ? [-change, lost].min : 0
          stack.reported[type] += change.positive? ? change : -other
          stack.now[type] = [change, 0].max - own if stack.now
        end
      end
    end

    # A profile in the form that Go's heap profiles have, which receivers such as Alloy need: four values to a sample, and
    # samples that are the same if addresses and labels are. The labels are the ones that the program has set; class and
    # age as labels would make thousands of series.
    class AgentProfile
      TYPES = PprofWriter::TYPES
      COLUMNS = PprofWriter::VALUE_INDEXES

      # values: {[addresses, leaf first, packed; labels as one text] => four Integers}; info: the Meta of the profile.
      attr_reader :values, :info

      def initialize(profile)
        @info, @frames, @known, @addresses = profile.info, {}, {}, PprofAddresses.new
        addresses = Hash.new { |known, id| known[id] = address(*profile.stacks.frame(id).then { |frame| [frame.label, frame.full_path, frame.lineno] }) }
        lists = Hash.new { |known, handle| known[handle] = list(profile.stacks.frame_ids(handle), addresses) }
        rows = profile.table.group_by { |row| [lists[row[Columns::STACK]], profile.text(row[Columns::LABEL_SET])] }
        @values = rows.transform_values { |group| COLUMNS.map { |column| group.sum { |row| row[column] }.round } }
      end

      # The line of a key of values, as a text: a stack that the file has cut is of the same line.
      def line((list, labels))
        frame = list.unpack("Q*").map { |address| @frames.fetch(address) }.find { |_, _, line| line.positive? }
        [*frame&.drop(1), labels].join("\0")
      end

      # pprof; +from+: a Time, when the values begin; +first+: the type that readers show first.
      def to_gz(from, first)
        @strings, @locations, @functions = {"" => 0}, {}, {}
        out = TYPES.map { |type| message(1, type(*type)) }.join
        values.each { |key, list| out << message(2, sample(key, list)) unless list.all?(&:zero?) }
        out << message(3, number(1, 1) + number(2, PprofAddresses::START) + number(3, PprofAddresses::LIMIT) + number(5, string("ruby")) + [7, 8, 9].map { |flag| number(flag, 1) }.join)
        @locations.each { |address, id| out << message(4, location(id, *@frames.fetch(address), address)) }
        @functions.each { |(name, path), id| out << message(5, number(1, id) + number(2, string(name)) + number(4, string(path))) }
        out << times(from) << message(11, type("space", "bytes")) << number(12, info.interval || 0) << number(14, string(first))
        Zlib.gzip(out + @strings.keys.map { |text| message(6, text.b) }.join, level: Zlib::BEST_SPEED)
      end

      private

      def list(ids, addresses) = (ids.empty? ? [address(Stacks::NO_STACK, "", 0)] : addresses.values_at(*ids)).pack("Q*")

      def address(*frame) = @known[frame] ||= @addresses.take(*frame).tap { |address| @frames[address] = frame }

      def sample((list, labels), values)
        ids = list.unpack("Q*").map { |address| @locations[address] ||= @locations.size + 1 }
        [[1, ids], [2, values]].map { |field, list| message(field, list.map { |one| Protobuf.encode(one) }.join) }.join +
          Labels.parse(labels).map { |name, value| message(3, number(1, string(name)) + number(2, string(value.to_s))) }.join
      end

      def location(id, name, path, line, address)
        function = @functions[[name, path]] ||= @functions.size + 1
        number(1, id) + number(2, 1) + number(3, address) + message(4, number(1, function) + number(2, line))
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
