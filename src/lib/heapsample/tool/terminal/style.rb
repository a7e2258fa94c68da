# frozen_string_literal: true

module HeapSample
  module Tool
    # Decorates text for the library: terminal escapes around it, which
    # take no room.  Growth is red because it is what one looks for.
    class Style
      CODES = {title: "1", head: "4", weak: "2", grown: "31", shrunk: "34"}.freeze
      RESET = "\e[0m"

      CODES.each do |name, code|
        define_method(name) { |text| text.to_s.empty? ? text : "\e[#{code}m#{text}#{RESET}" }
      end

      def plain(text)
        text
      end
    end
  end
end
