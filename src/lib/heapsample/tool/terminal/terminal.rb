# frozen_string_literal: true

require "io/console"

module HeapSample
  module Tool
    # What an IO writes to: is it a terminal, how wide is it, does it have colours?
    class Terminal
      # Reports are as wide as in a file, unless the terminal is narrower or wider.
      WIDTH = 120
      # Narrower, a table cannot be read; wider, a row cannot be followed.
      WIDTHS = (60..240)
      COLOURS = %w[auto always never].freeze

      def initialize(io, env = ENV)
        @io = io
        @env = env
      end

      def tty?
        @io.tty?
      end

      def width
        columns = (@io.winsize[1] if tty?)
        columns && columns > 0 ? columns.clamp(WIDTHS.min, WIDTHS.max) : WIDTH
      rescue SystemCallError
        WIDTH
      end

      # +wanted+: one of COLOURS.  NO_COLOR, if it is set and not empty, and a
      # dumb terminal want none unless they are asked for.
      def style(wanted = "auto")
        Style.new if wanted == "always" || (wanted == "auto" && colours?)
      end

      private

      def colours?
        tty? && @env["TERM"] != "dumb" && @env["NO_COLOR"].to_s.empty?
      end
    end
  end
end
