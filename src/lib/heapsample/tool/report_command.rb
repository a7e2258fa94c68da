# frozen_string_literal: true

require "json"

module HeapSample
  module Tool
    # A command that prints an analysis: how it is grouped, filtered, laid out.
    # The text is from the library.  A subclass lists in TAKES the options below that it has,
    # and defines its own options in #define_own.
    class ReportCommand < Command
      LAYOUT = %i[json width root color].freeze
      TAKES = [:by, :kind, :top, :stacks, :diagnose, *LAYOUT, :filters].freeze
      # What --by, --value and --format take, the usual kind, and what --top calls rows, with their usual number.
      BY = Groups::BY
      BY_USUAL = "line"
      VALUES = Value::NAMES
      FORMATS = [].freeze
      TOP = ["ROWS", "rows in a table", HeapSample::Top::ROWS].freeze
      # How long it watches a running process, unless --seconds is given.
      SECONDS = nil
      # Of the run time of a process, for GCs and heap walks.
      SHARE = "1%"
      PAGE_ENDINGS = %w[.html .htm].freeze

      private

      def define_options(parser)
        define_own(parser)
        (self.class::TAKES - [:filters]).each { |option| send(:"define_#{option}", parser) }
      end

      def define_own(parser); end

      def filters? = self.class::TAKES.include?(:filters)

      def define_by(parser)
        app = "; app: nearest line of the application" if self.class::BY.include?(:app)
        parser.on("--by KIND", "group by #{self.class::BY.join(", ")}", "or #{Groups::LABEL}#{app} (default: #{self.class::BY_USUAL})") { |by| take_by(by) }
      end

      def take_by(by)
        options[:by] = grouping("--by", by, self.class::BY)
      end

      def define_kind(parser)
        parser.on("--kind KIND", "which memory: #{Groups::MEMORY.join(", ")} (default: both)") { |kind| options[:kind] = choice("--kind", kind, Groups::MEMORY).to_sym }
      end

      def define_top(parser)
        what, text, usual = self.class::TOP
        parser.on("--top #{what}", "#{text} (default: #{usual})") { |count| options[:top] = positive("--top", count) }
      end

      # Of a tree.
      def define_min(parser)
        parser.on("--min PERCENT", "combine what is smaller than this percentage of the total (default: #{format("%g", self.class::MIN_SHARE * 100)})") do |share|
          options[:min_share] = number("--min", share, 0.0..100.0, "a number from 0 to 100") / 100
        end
      end

      def define_value(parser)
        churn = " churn," if self.class::VALUES.include?(:churn)
        parser.on("--value VALUE", "rank rows by a value: inuse_space, alloc_objects, young_space, freed_space,#{churn}",
                  "holds_free, unshared, or another sample type of the profile (default: inuse_space)") { |value| options[:value] = choice("--value", value, self.class::VALUES).to_sym }
      end

      def define_filters(parser) = filters.define(parser)

      def define_stacks(parser)
        parser.on("--stacks", "print the stack that allocated most of each row") { options[:stacks] = true }
      end

      def define_format(parser)
        parser.on("--format FORMAT", "output format: #{["text", *self.class::FORMATS].join(", ")} (default: text)") do |format|
          options[:format] = choice("--format", format, ["text", *self.class::FORMATS])
        end
      end

      def define_json(parser)
        parser.on("--json", "print figures as JSON, not rounded") { options[:format] = "json" }
      end

      def json? = options[:format] == "json"

      def define_width(parser)
        parser.on("--width CHARACTERS", "characters in a line (default: width of the terminal, or #{Terminal::WIDTH})") do |width|
          options[:width] = positive("--width", width)
        end
      end

      def define_root(parser)
        parser.on("--root FOLDER", "shorten paths below this folder (default: the current folder)") { |root| options[:root] = File.expand_path(root) }
      end

      def define_color(parser)
        parser.on("--color WHEN", "use colors: #{Terminal::COLOURS.join(", ")}; auto obeys NO_COLOR (default: auto)") do |wanted|
          options[:color] = choice("--color", wanted, Terminal::COLOURS)
        end
      end

      # Of a running process.
      def define_diagnose(parser)
        parser.on("--diagnose SHARE", "running process: share of run time for GCs and heap walks, or off (default: #{SHARE})") do |share|
          options[:diagnose] = share("--diagnose", share)
        end
      end

      def define_seconds(parser, text = "running process: seconds to watch it (default: #{format("%g", self.class::SECONDS)})")
        parser.on("--seconds SECONDS", text) { |seconds| options[:seconds] = number("--seconds", seconds, 0.1.., "a number of seconds, 0.1 or more") }
      end

      # The only argument, a profile, read and filtered.
      def only_profile(arguments)
        load(expect(arguments, 1..1, "profile")).first
      end

      # How a running process is asked for a profile.
      def asked = {diagnose: options[:diagnose] || SHARE}

      # How long a running process is looked at.
      def seconds = options[:seconds] || self.class::SECONDS

      def filters
        @filters ||= Filters.new
      end

      # Profiles, filtered; a folder stands for one profile (see FolderProfile).
      def load(paths, &wanted)
        files = paths.map { |path| Inputs.one(path, &wanted) }
        profiles = files.map { |file| Inputs.load(file, **asked) }
        by_class if profiles.any? { |profile| profile.dump && !profile.dump.traced? }
        filters.apply(files, profiles)
      end

      # The lines of a heap dump are not known where no allocation was traced.
      def by_class
        return if options[:by] || !self.class::TAKES.include?(:by)

        options[:by] = :class
        Message.print("no allocation was traced, so lines are not known: grouped by class. Call ObjectSpace.trace_object_allocations_start for lines")
      end

      # The same in the order of time.
      def load_in_order(paths)
        profiles = load(paths)
        paths.zip(profiles).each_cons(2) do |(path, profile), (next_path, later)|
          # The time of a dump's file may be the time of its copy.
          times = [profile, later].map { |one| one.info.dump? ? one.info.gc_count : one.info.taken }
          raise Failure, "#{next_path} was taken before #{path}; name the earlier one first" if times.all? && times[1] < times[0]
        end
        profiles
      end

      # A Series of each process's profiles; and warnings about files that are left out.
      def all_series(paths)
        check_series(paths)
        sources = paths.filter_map { |path| Inputs.live(path) }
        sources.empty? ? Inputs.all_series(paths) : [observed(Observing.new(sources, seconds: seconds, **asked), &:series), []]
      end

      # What the block returns of a look at running processes, which Ctrl-C may have cut short.
      def observed(observing)
        yield(observing).tap { @interrupted = observing.interrupted? }
      end

      # Of one process's profiles.
      def load_series(paths)
        check_series(paths)
        sources = paths.filter_map { |path| Inputs.live(path) }
        raise UsageError, "only one running process can be read at a time: #{sources.map(&:name).join(", ")}" if sources.size > 1
        series, = all_series(paths)
        return series.first if series.size == 1

        Diagnosis.new(series).first.series.tap { |first| Message.print("#{first.describe}; #{series.size - 1} more in #{paths.join(", ")}") }
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

      # The output of -o, for a page.  A name without an ending may be a device or a pipe.
      def page_path(paths)
        output = output_path(paths)
        return output if File.extname(output).empty? || output.end_with?(*PAGE_ENDINGS)

        others = Formats::NAMES.map { |format| ".#{format}" } - PAGE_ENDINGS
        raise UsageError, "#{output}: a page must end with #{PAGE_ENDINGS.first}; heapsample convert writes #{others.join(", ")}"
      end

      def write_page(view, output)
        page = Progress.show("making #{output}") { view.to_s }
        Output.write(output) { |io| io.write(page) }
        print_written(output)
      end

      # Prints it in the format of --format or --json.
      def print_analysis(analysis)
        format = options[:format] || "text"
        text = analysis.text(**look) unless json?
        $stdout.write(json? ? "#{Printable.json(options[:stacks] ? analysis.to_h(stacks: true) : analysis.to_h)}\n" : format == "text" ? text.to_s : text.public_send(:"to_#{format}"))
        nil
      end
    end
  end
end
