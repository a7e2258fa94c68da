# frozen_string_literal: true

require "json"

module HeapSample
  module Tool
    # A command that prints an analysis: how it is grouped, filtered, laid out.
    # What it says is the library's.
    class ReportCommand < Command
      SIZES = /\A(\d+)\z/.freeze

      private

      def define_options(parser)
        define_layout(parser)
      end

      def define_grouping(parser, kinds = Groups::KINDS)
        parser.on("--by KIND", kinds.map(&:to_s), "rows are summed by: #{kinds.join(", ")}") { |by| options[:by] = by.to_sym }
      end

      def define_memory(parser)
        parser.on("--kind KIND", Groups::MEMORY.map(&:to_s), "memory: #{Groups::MEMORY.join(", ")}") do |kind|
          options[:kind] = kind.to_sym
        end
      end

      def define_top(parser)
        parser.on("--top N", Integer, "rows of a table") { |count| options[:top] = positive("--top", count) }
      end

      def define_filters(parser)
        parser.separator ""
        parser.separator "Only rows (NAME is all of it, /NAME/ a regular expression):"
        {class: "of this class", type: "of this type: T_STRING, …", path: "with a frame of this file or folder on the stack",
         gem: "with a frame of this gem on the stack"}.each do |name, text|
          parser.on("--#{name} NAME", text) { |value| filters[name] = pattern("--#{name}", value) }
        end
        parser.on("--age GCS", "of objects that old, in GCs: 3.. or 0..2 or 5") { |value| filters[:age] = range("--age", value) }
      end

      def define_layout(parser)
        parser.separator ""
        parser.on("--json", "the same figures as JSON, unrounded") { options[:json] = true }
        parser.on("--width N", Integer, "characters in a line (the terminal's, else #{Terminal::WIDTH})") do |width|
          options[:width] = positive("--width", width)
        end
        parser.on("--root DIR", "paths below it are shortened (the current folder)") { |root| options[:root] = File.expand_path(root) }
        parser.on("--color WHEN", Terminal::COLOURS, "#{Terminal::COLOURS.join(", ")} (NO_COLOR is obeyed)") do |wanted|
          options[:color] = wanted
        end
      end

      def filters
        @filters ||= {}
      end

      # A profile, filtered.
      def load(path)
        filtered(Inputs.load(path))
      end

      def filtered(profile)
        filters.empty? ? profile : profile.filter(**filters)
      end

      # The options that an analysis takes.
      def analysis_options(*names)
        {root: Dir.pwd}.merge(options.slice(*names))
      end

      # How it looks: for an analysis's to_s.
      def layout_options
        terminal = Terminal.new($stdout)
        {width: options[:width] || terminal.width, style: terminal.style(options[:color] || "auto")}
      end

      # Prints it as text or as JSON.
      def print_analysis(analysis)
        text = options[:json] ? "#{JSON.pretty_generate(analysis.to_h)}\n" : analysis.to_s
        $stdout.write(text)
        nil
      end

      def positive(option, value)
        value > 0 ? value : raise(OptionParser::InvalidArgument, "#{option} #{value}: it is not above 0")
      end

      def pattern(option, value)
        return value unless value.size > 2 && value.start_with?("/") && value.end_with?("/")

        Regexp.new(value[1..-2])
      rescue RegexpError => e
        raise OptionParser::InvalidArgument, "#{option} #{value}: #{e.message}"
      end

      # "3..", "0..2", "5".
      def range(option, value)
        match = value.match(/\A(\d+)?(\.\.)?(\d+)?\z/)
        first, dots, last = match&.captures&.then { |from, dots, to| [from&.to_i, dots, to&.to_i] }
        valid = match && (dots ? first || last : first && !last) && !(dots && first && last && last < first)
        raise OptionParser::InvalidArgument, "#{option} #{value}: it is 3.. or 0..2 or 5" unless valid

        dots ? ((first || 0)..last) : (first..first)
      end
    end
  end
end
