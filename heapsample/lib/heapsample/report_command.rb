# frozen_string_literal: true

require "json"

module HeapSample
  module Tool
    # A command that prints an analysis: how it is grouped, filtered, laid out.
    # What it says is the library's.  A subclass names its groups of options in TAKES,
    # and defines those of its own in #define_own.
    class ReportCommand < Command
      TAKES = %i[grouping memory top filters].freeze

      private

      def define_options(parser)
        define_own(parser)
        self.class::TAKES.each { |group| send(:"define_#{group}", parser) }
        define_layout(parser)
      end

      def define_own(parser); end

      # The only argument, a profile, read and filtered.
      def only_profile(arguments)
        load(expect(arguments, 1..1, "profile").first)
      end

      def define_grouping(parser, kinds = Groups::KINDS)
        parser.on("--by KIND", kinds.map(&:to_s), "rows by #{kinds.join(", ")}",
                  "(line: where it was allocated; app: the line of the application behind that)") { |by| options[:by] = by.to_sym }
      end

      def define_memory(parser)
        parser.on("--kind KIND", Groups::MEMORY.map(&:to_s), "memory: #{Groups::MEMORY.join(", ")}") do |kind|
          options[:kind] = kind.to_sym
        end
      end

      def define_top(parser)
        parser.on("--top N", Integer, "rows of a table") { |count| options[:top] = positive("--top", count) }
      end

      def define_value(parser)
        parser.on("--value VALUE", Value::NAMES.map(&:to_s), "rows are ranked by: inuse_space (usual), alloc_objects, young_space,",
                  "dead_space … (those of a profile's sample types)") { |value| options[:value] = value.to_sym }
      end

      FILTERS = {
        class: ["NAME", "of this class; * stands for anything: 'Ticket*'"],
        type: ["NAME", "of this type: T_STRING, string, …"],
        path: ["PATH", "put down to a line of this file or folder: app/models, user.rb:12"],
        gem: ["NAME", "put down to a line of this gem"],
        stack: ["PATH|NAME", "with this file, folder or method anywhere on the stack"]
      }.freeze

      def define_filters(parser)
        parser.separator ""
        parser.separator "Only what is (NAME may be a list a,b and a /regular expression/):"
        FILTERS.each do |name, (argument, text)|
          parser.on("--#{name} #{argument}", text) { |value| filters[name] = patterns("--#{name}", value) }
        end
        define_age(parser) { |age| filters[:age] = age }
      end

      def define_age(parser)
        parser.on("--age GCS", "of objects that old, in GCs: 3.. or 0..2 or 5") { |value| yield range("--age", value) }
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

      # Of one process's profiles.
      def load_series(paths)
        paths.each { |path| raise Failure, "#{path}: no such file or folder" unless File.exist?(path) }
        series = Progress.show("reading #{paths.size == 1 ? paths.first : "#{paths.size} files"}") { Series.load(paths) }
        filters.empty? ? series : series.filter(**filters)
      end

      def filtered(profile)
        filters.empty? ? profile : profile.filter(**filters)
      end

      # The options of an analysis: +names+, if they were given, and how it looks.
      def analysis_options(*names, io: $stdout)
        terminal = Terminal.new(io)
        {root: Dir.pwd, width: terminal.width, style: terminal.style(options[:color] || "auto"),
         **options.slice(:root, :width, *names)}
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

      def patterns(option, value)
        return Regexp.new(value[1..-2]) if value.size > 2 && value.start_with?("/") && value.end_with?("/") && value.count("/") == 2

        list = value.split(",").reject(&:empty?)
        raise OptionParser::InvalidArgument, "#{option} #{value}: it is empty" if list.empty?

        list.size == 1 ? list.first : list
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
