# frozen_string_literal: true

module HeapSample
  module Dump
    # Makes of a dump what Profile.new takes.
    class Reader
      CLASSES = %w[CLASS MODULE ICLASS].freeze
      # Modules whose addresses distinguish processes. In a dump of Ruby 2.7 a singleton class has the name of its class: modules have
      # a name of their own.
      FIRST = %w[Kernel Comparable Enumerable Math Process].freeze

      # +peek+: a Peek.  +references+: also what retains what.
      def initialize(peek, name, references: false)
        @peek = peek
        @name = name
        @lines = Lines.new(peek)
        @rows = Rows.new
        @classes = ClassNames.new
        @duplicates = Duplicates.new
        @objects = Objects.new
        @graph = Graph.new if references
        @damaged = @shapes = @objects_seen = 0
      end

      def read
        @lines.each { |line| take(line) || break }
        @lines.cut! if @unread_last
        @duplicates.finish
        raise FormatError, "#{Printable.text(@name)}: not a readable heap dump: no line of it is an object" if @objects_seen.zero?

        profile
      end

      private

      # Takes a line; false of one with which another dump begins.
      def take(line)
        fields, references = Record.parse(line)
        @unread_last = fields.nil? && @lines.unended?
        return unreadable(line) unless fields

        case (type = fields["type"])
        when "ROOT" then return root(fields, references)
        when "SHAPE" then @shapes += 1
        when "NONE", "ZOMBIE" then nil
        else object(fields, type, references)
        end
        true
      end

      def unreadable(line)
        @damaged += 1 unless @unread_last || line.strip.empty?
        true
      end

      # All roots come before the first object.
      def root(fields, references)
        @second = @objects_seen.positive?
        return false if @second

        @graph&.root(fields["root"].to_s, references)
        true
      end

      def object(fields, type, references)
        text = fields["address"]
        memsize = fields["memsize"]
        address = text.is_a?(String) ? text.hex : 0
        return @damaged += 1 unless address.positive? && type.is_a?(String)

        memsize = memsize.is_a?(Integer) && memsize.between?(0, MEMSIZE_MAX) ? memsize : 0
        @objects_seen += 1
        class_address = fields["class"] unless type == "IMEMO"          # in a dump of Ruby 2.7 it is the class that has the method
        row = @rows.add(class_address.is_a?(String) ? class_address : hidden(fields, type), "T_#{type}", numbers(fields), memsize)
        @classes.note(text, fields) if CLASSES.include?(type)
        @duplicates.note(fields["value"], memsize, row) if type == "STRING" && fields["value"].is_a?(String)
        @objects.add(address, row, memsize)
        @graph&.object(fields, references)
      end

      # Bytes of an object; more is nonsense.
      MEMSIZE_MAX = 1 << 50
      private_constant :MEMSIZE_MAX

      # A generation that is no number is none.
      def numbers(fields)
        fields.delete("generation") if fields.key?("generation") && !fields["generation"].is_a?(Integer)
        fields
      end

      # What an object without a class is called.
      def hidden(fields, type)
        return "(imemo:#{fields["imemo_type"] || "unknown"})" if type == "IMEMO"
        return "(hidden T_DATA #{fields["struct"]})" if type == "DATA" && fields["struct"]

        "(hidden T_#{type})"
      end

      def profile
        texts, frames, nodes = @rows.stacks
        indexes = Hash.new { |known, name| known[name] = (texts << name).size - 1 }
        names = @rows.classes.each_with_index.map { |address, row| class_name(address, row) }
        table = @rows.table(names.map { |name| indexes[name] }, texts)
        texts.map! { |text| Printable.utf8(text) }
        duplicates = @duplicates.groups.each { |group| group.row = table[group.row] }
        facts = Facts.new(objects: @objects.finish, classes: @classes, rows: table, duplicates: duplicates, left_out: left_out, traced: @rows.traced, count: @objects_seen)
        found = Retention.new(@graph, @objects, @rows, @classes, names, table) if @graph
        {meta: meta(found), texts: texts, stacks: NodeStacks.new(texts, frames, nodes), rows: table.uniq(&:object_id), holders: found&.holders, dump: facts}
      end

      # A dump that is cut off, or has what is new alone, lacks classes.
      def class_name(address, row)
        return address unless address.start_with?("0x")

        @classes.name(address) || "(unknown class of #{@rows.type_name(row)})"
      end

      def meta(found)
        generation = @rows.last_generation
        {"format" => PprofReader::FORMAT, "reason" => Meta::DUMP, "process_start" => process_start, "taken_ns" => (@peek.time.to_r * 1_000_000_000).to_i,
         "gc" => (generation ? {"count" => generation} : nil), "kept" => found&.walk}.compact
      end

      # Equal for dumps of one process, and of its forks: the addresses of modules that nothing moves.
      def process_start
        known = @classes.unique.values_at(*FIRST)
        known.all? ? "dump #{known.join(" ")}" : nil
      end

      # Sentences about what is not in the profile.
      def left_out
        [(count(@damaged, "line is no line of a heap dump, and was left out", "lines are no lines of a heap dump, and were left out") if @damaged.positive?),
         (count(@lines.long, "line is too long, and was left out", "lines are too long, and were left out") if @lines.long.positive?),
         ("the file ends early; what comes before its end was read" if @lines.cut?),
         ("another dump follows in this file, and was left out" if @second)].compact
      end

      def count(number, one, many) = "#{Layout.grouped(number)} #{number == 1 ? one : many}"
    end
  end
end
