# frozen_string_literal: true

module HeapSample
  module Tool
    # Reads the value of an option.
    module Values
      # A value is invalid; the message names valid values.  OptionParser would add its own words
      # to an error of its own.
      class Refused < StandardError
      end

      private

      # One of +choices+, or so much of its beginning that it is no other.  A String.
      def choice(option, value, choices)
        choices = choices.map(&:to_s)
        found = choices.include?(value) ? [value] : choices.select { |name| name.start_with?(value) }
        return found.first if found.size == 1

        refuse(option, value, "it is ambiguous; write one of #{found.join(", ")}") if found.size > 1 && found.size < choices.size
        refuse(option, value, "it must be one of #{choices.join(", ")}#{Nearest.question(value, choices)}")
      end

      # One of +kinds+, or a label: what Groups.by takes.
      def grouping(option, value, kinds)
        return value.to_sym if Labels.named(value)

        choice(option, value, [*kinds, Groups::LABEL]).to_sym.tap do |by|
          refuse(option, value, "the label is missing; write one such as label:controller") if by.to_s == Groups::LABEL
        end
      end

      def positive(option, value)
        number = Integer(value, 10, exception: false)
        number && number > 0 ? number : refuse(option, value, "it must be a whole number above 0")
      end

      # +meaning+: what the number is, as text: "a number of seconds, 0 or more".
      def number(option, value, range, meaning)
        number = Float(value, exception: false)
        number && range.cover?(number) ? number : refuse(option, value, "it must be #{meaning}")
      end

      # Of the run time of a process: "1%" or "off".
      def share(option, value)
        return value if value == "off" || (value.match?(/\A\d{1,2}(?:\.\d{1,3})?%\z/) && value.to_f.between?(0.001, 50))

        refuse(option, value, "it must be a share from 0.001% to 50%, such as 1%, or off")
      end

      # Bytes: "500m" or "1g", of 1 MiB at least.
      def size(option, value)
        number, unit = value.downcase.match(/\A(\d{1,9})([kmgt]?)\z/)&.captures
        bytes = number.to_i << 10 * "kmgt".index(unit).to_i.succ if number && !unit.empty?
        bytes ||= number.to_i
        bytes >= 1 << 20 ? bytes : refuse(option, value, "it must be a size of 1m or more, such as 500m or 1g")
      end

      # Of names: "Ticket", "Ticket,Order", "/Tick/".
      def patterns(option, value)
        return Regexp.new(value[1..-2]) if value.size > 2 && value.start_with?("/") && value.end_with?("/") && value.count("/") == 2

        list = value.split(",").reject(&:empty?)
        refuse(option, value, "it is empty; give a name") if list.empty?

        list.size == 1 ? list.first : list
      rescue RegexpError => e
        refuse(option, value, e.message)
      end

      # "3..", "0..2", "5".
      def range(option, value)
        match = value.match(/\A(\d+)?(\.\.)?(\d+)?\z/)
        first, dots, last = match&.captures&.then { |from, dots, to| [from&.to_i, dots, to&.to_i] }
        valid = match && (dots ? first || last : first && !last) && !(dots && first && last && last < first)
        refuse(option, value, "it must be a number or a range, such as 5, 3.. or 0..2") unless valid

        dots ? ((first || 0)..last) : (first..first)
      end

      def refuse(option, value, why)
        raise Refused, "#{option} #{value}: #{why}"
      end
    end
  end
end
