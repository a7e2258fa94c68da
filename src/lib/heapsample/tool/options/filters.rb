# frozen_string_literal: true

module HeapSample
  module Tool
    # The filters of a command line: which rows of a profile are wanted.  Where none matches, the command
    # line has a mistake, and NoMatch names similar values.
    class Filters
      include Values

      NAMES = {
        class: ["NAME", "class; * matches any text: 'Ticket*'"],
        type: ["NAME", "type: T_STRING or STRING, T_OBJECT, …"],
        path: ["PATH", "line in this file or folder: app/models, user.rb:12"],
        gem: ["NAME", "line in this gem"],
        stack: ["PATH|NAME", "file, folder or method anywhere in the stack"]
      }.freeze

      # Name => what Profile#filter takes.
      attr_reader :wanted

      def initialize
        @wanted = {}
        @given = {}
      end

      def define(parser)
        parser.separator ""
        parser.separator "Filters (default: all rows). NAME can be a list a,b or a /regular expression/:"
        NAMES.each do |name, (argument, text)|
          parser.on("--#{name} #{argument}", text) { |value| add(name, value, patterns("--#{name}", value)) }
        end
        parser.on("--label NAME=VALUE", "label at allocation: controller=orders") { |value| add_label(value) }
        parser.on("--age GCS", "age in GCs: 3.. or 0..2 or 5") { |value| add(:age, value, range("--age", value)) }
      end

      # The ages that were given, a Range or nil, which no longer select rows.
      def take_age
        @given.delete(:age)
        @wanted.delete(:age)
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
        refuse("--label", given, "it must be NAME=VALUE, such as controller=orders") if name.to_s.empty?
        add(:label, [@given[:label], given].compact.join(" --label "),
            {**@wanted.fetch(:label, {}), name => value ? patterns("--label", value) : true})
      end

      def refuse_nothing(where, profiles)
        raise Failure, NoMatch.new(profiles, @wanted, @given).message(where)
      end
    end
  end
end
