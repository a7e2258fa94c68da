# frozen_string_literal: true

module HeapSample
  module Tool
    # Known names that are similar to a name that is not known.
    module Nearest
      # Names that hold the text, at most.
      HOLDING = 3

      module_function

      # call-seq:
      #   Nearest.of("tikcet", ["Ticket", "Order"]) -> ["Ticket"]
      #
      # The same but for upper and lower case, else what is spelled alike, else what holds the
      # text, in the order of +names+; empty if nothing is near.
      def of(text, names)
        text, *names = [text, *names].map { |name| Printable.utf8(name) }
        equal = names.select { |name| name.casecmp?(text) }
        return equal.first(1) unless equal.empty?

        alike = spelled_like(text, names)
        alike.empty? && !text.empty? ? names.select { |name| name.downcase.include?(text.downcase) }.first(HOLDING) : alike
      end

      # "; did you mean Ticket?", or "".
      def question(text, names)
        found = of(text, names)
        found.empty? ? "" : "; did you mean #{found.join(" or ")}?"
      end

      def spelled_like(text, names)
        require "did_you_mean/spell_checker"
        DidYouMean::SpellChecker.new(dictionary: names).correct(text).first(1)
      rescue LoadError
        []
      end
    end
  end
end
