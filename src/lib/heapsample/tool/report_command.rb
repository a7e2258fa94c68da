# frozen_string_literal: true

require "json"

module HeapSample
  module Tool
    # A command that prints an analysis: how it is grouped, filtered, laid out.
    # What it says is the library's.  A subclass names its groups of options in TAKES,
    # and defines those of its own in #define_own.
    class ReportCommand < Command
      TAKES = %i[grouping memory top filters].freeze
      # Has it rows that came by stacks?
      STACKS = true
      # How long it looks at a running process; nil where it wants one profile.
      SECONDS = nil
      # Of the run time of a process, for GCs and heap walks.
      SHARE = "1%"

      private

      def define_options(parser)
        define_own(parser)
        (self.class::TAKES - [:filters]).each { |group| send(:"define_#{group}", parser) }
        define_live(parser)
        define_layout(parser)
      end

      def define_own(parser); end

      def filters? = self.class::TAKES.include?(:filters)

      # The only argument, a profile, read and filtered.
      def only_profile(arguments)
        load(expect(arguments, 1..1, "profile")).first
      end

      def define_grouping(parser, kinds = Groups::BY)
        app = "; app: nearest line of the application" if kinds.include?(:app)
        parser.on("--by KIND", "group by #{kinds.join(", ")}", "or #{Groups::LABEL}#{app} (default: line)") do |by|
          options[:by] = grouping("--by", by, kinds)
        end
      end

      def define_memory(parser)
        parser.on("--kind KIND", "which memory: #{Groups::MEMORY.join(", ")} (default: both)") { |kind| options[:kind] = choice("--kind", kind, Groups::MEMORY).to_sym }
      end

      def define_top(parser, usual = Top::ROWS)
        parser.on("--top ROWS", "rows in a table (default: #{usual})") { |count| options[:top] = positive("--top", count) }
      end

      # Of a tree.
      def define_nodes(parser, shown, usual, usual_share)
        parser.on("--top #{shown.upcase}", "#{shown} to print (default: #{usual})") { |count| options[:top] = positive("--top", count) }
        parser.on("--min PERCENT", "combine what is smaller than this percentage of the total (default: #{format("%g", usual_share * 100)})") do |share|
          options[:min_share] = number("--min", share, 0.0..100.0, "a number from 0 to 100") / 100
        end
      end

      def define_value(parser)
        parser.on("--value VALUE", "rank rows by a value: inuse_space, alloc_objects, young_space, dead_space",
                  "or another sample type of the profile (default: inuse_space)") { |value| options[:value] = choice("--value", value, Value::NAMES).to_sym }
      end

      # The values that have no objects.
      def define_shares(parser)
        parser.on("--free", "rank rows by free memory in the heap pages that they hold") { options[:value] = :holds_free }
        parser.on("--unshared", "forked process: rank rows by memory that is no longer shared with its parent") { options[:value] = :unshared }
      end

      def define_filters(parser)
        filters.define(parser)
        define_age(parser)
      end

      def define_age(parser, &block)
        filters.define_age(parser, &block)
      end

      def define_layout(parser)
        parser.on("--json", "print figures as JSON, not rounded") { options[:json] = true }
        if self.class::STACKS
          parser.on("--stacks", "print the stack that allocated most of each row") { options[:stacks] = true }
        end
        parser.on("--width CHARACTERS", "characters in a line (default: width of the terminal, or #{Terminal::WIDTH})") do |width|
          options[:width] = positive("--width", width)
        end
        parser.on("--root FOLDER", "shorten paths below this folder (default: the current folder)") { |root| options[:root] = File.expand_path(root) }
        parser.on("--color WHEN", "use colors: #{Terminal::COLOURS.join(", ")}; auto obeys NO_COLOR (default: auto)") do |wanted|
          options[:color] = choice("--color", wanted, Terminal::COLOURS)
        end
      end

      # Of a running process.
      def define_live(parser)
        return unless self.class::USAGE.match?(/\b(?:FILE|BEFORE|PROFILE|PID)\b/)

        parser.on("--diagnose SHARE", "running process: share of run time for GCs and heap walks, or off (default: #{SHARE})") do |share|
          options[:diagnose] = share("--diagnose", share)
        end
        define_seconds(parser) if self.class::SECONDS
      end

      def define_seconds(parser)
        parser.on("--seconds SECONDS", "running process: seconds to watch it (default: #{format("%g", self.class::SECONDS)})") do |seconds|
          options[:seconds] = number("--seconds", seconds, 0.1.., "a number of seconds, 0.1 or more")
        end
      end

      # How a running process is asked for a profile.
      def asked = {diagnose: options[:diagnose] || SHARE}

      # How long a running process is looked at.
      def seconds = options[:seconds] || self.class::SECONDS

      def filters
        @filters ||= Filters.new
      end

      # Profiles, filtered; a folder stands for the last one in it (see Inputs.one).
      def load(paths, &wanted)
        files = paths.map { |path| Inputs.one(path, &wanted) }
        filters.apply(files, files.map { |file| Inputs.load(file, **asked) })
      end

      # The same in the order of time.
      def load_in_order(paths)
        profiles = load(paths)
        paths.zip(profiles).each_cons(2) do |(path, profile), (next_path, later)|
          times = [profile, later].map { |one| one.info.taken }
          raise Failure, "#{next_path} was taken before #{path}; name the earlier one first" if times.all? && times[1] < times[0]
        end
        profiles
      end

      # Of each process's profiles.
      def all_series(paths)
        check_series(paths)
        sources = paths.filter_map { |path| Inputs.live(path) }
        sources.empty? ? Series.all(paths) : Observing.new(sources, seconds: seconds, **asked).series
      end

      # Of one process's profiles.
      def load_series(paths)
        check_series(paths)
        sources = paths.filter_map { |path| Inputs.live(path) }
        raise UsageError, "only one running process can be read at a time: #{sources.map(&:name).join(", ")}" if sources.size > 1
        return filters.apply_to_series(all_series(paths).first) unless sources.empty?

        filters.apply_to_series(Progress.show("reading #{paths.size == 1 ? paths.first : "#{paths.size} files"}") { Series.load(paths) })
      end

      def check_series(paths)
        raise UsageError, "-: a series cannot be read from standard input; name files" if paths.include?(Inputs::STDIN)

        live, files = paths.partition { |path| Inputs.live(path) }
        raise UsageError, "#{live.first} is a running process, and #{files.first} a file; name one or the other" unless live.empty? || files.empty?

        files.each { |path| raise Inputs.missing(path) unless File.exist?(path) }
      end

      # The options of an analysis: +names+, if they were given.
      def analysis_options(*names) = options.slice(*names)

      # How a text looks: the options of Layout.new.
      def look(io: $stdout)
        terminal = Terminal.new(io)
        {root: Dir.pwd, width: terminal.width, style: terminal.style(options[:color] || "auto"), **options.slice(:root, :width, :stacks)}
      end

      # Prints it as text or as JSON.
      def print_analysis(analysis)
        text = options[:json] ? "#{Printable.json(analysis.to_h(**options.slice(:stacks)))}\n" : analysis.text(**look).to_s
        $stdout.write(text)
        nil
      end
    end
  end
end
