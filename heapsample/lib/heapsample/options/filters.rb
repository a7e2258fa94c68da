# frozen_string_literal: true

module HeapSample
  module Tool
    # The filters of a command line: which rows of a profile are wanted.  Where none is, that is a
    # mistake of whoever wrote them, and NoMatch says what is near.
    class Filters
      include Values

      NAMES = {
        class: ["NAME", "of this class; * stands for anything: 'Ticket*'"],
        type: ["NAME", "of this type: T_STRING or STRING, T_OBJECT, …"],
        path: ["PATH", "of a line in this file or folder: app/models, user.rb:12"],
        gem: ["NAME", "of a line in this gem"],
        stack: ["PATH|NAME", "with this file, folder or method anywhere on the stack"]
      }.freeze

      # Name => what Profile#filter takes.
      attr_reader :wanted

      def initialize
        @wanted = {}
        @given = {}
      end

      def define(parser)
        parser.separator ""
        parser.separator "Only what is (NAME may be a list a,b and a /regular expression/):"
        NAMES.each do |name, (argument, text)|
          parser.on("--#{name} #{argument}", text) { |value| add(name, value, patterns("--#{name}", value)) }
        end
        parser.on("--label NAME=VALUE", "of what was allocated under this label: controller=orders") { |value| add_label(value) }
      end

      # The value is an age or a range of ages; where a block is given, it gets it.
      def define_age(parser)
        parser.on("--age GCS", "of objects that old, in GCs: 3.. or 0..2 or 5") do |value|
          ages = range("--age", value)
          block_given? ? yield(ages) : add(:age, value, ages)
        end
      end

      def empty? = @wanted.empty?

      # call-seq:
      #   apply(names, profiles) -> Array of profiles
      #
      # Raises Failure if nothing matches in any of them.
      def apply(names, profiles)
        return profiles if empty?

        filtered = profiles.map { |profile| profile.filter(**@wanted) }
        refuse_nothing(names.join(" or "), profiles) if filtered.all? { |profile| profile.table.empty? }
        filtered
      end

      # The same of a Series.
      def apply_to_series(series)
        return series if empty?

        filtered = series.filter(**@wanted)
        something = filtered.size.downto(1).any? { |count| !filtered[count - 1].table.empty? }
        refuse_nothing("any of #{series.size} profiles", [series.last]) unless something
        filtered
      end

      private

      def add(name, value, wanted)
        @given[name] = value
        @wanted[name] = wanted
      end

      # Of several all must agree.
      def add_label(given)
        name, value = given.split("=", 2)
        refuse("--label", given, "it is NAME=VALUE, as in controller=orders") if name.to_s.empty?
        add(:label, [@given[:label], given].compact.join(" --label "),
            {**@wanted.fetch(:label, {}), name => value ? patterns("--label", value) : true})
      end

      def refuse_nothing(where, profiles)
        raise Failure, NoMatch.new(profiles, @wanted, @given).message(where)
      end
    end
  end
end
