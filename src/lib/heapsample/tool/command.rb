# frozen_string_literal: true

require "optparse"

module HeapSample
  module Tool
    # One command.  A subclass declares it: TASK (one of TASKS), SUMMARY (what it does, in a line), USAGE (what
    # follows its name), EXAMPLES (a line each), HELP (more text, if any), options in #define_options, and #call,
    # whose result is the exit status or nil.
    class Command
      include Values

      # Groups of commands in `heapsample help`.
      TASKS = ["Find a leak", "Look at a running process", "Start and stop sampling", "Read one profile", "Write files"].freeze
      HELP = ""
      # Of the file that -o names.
      ENDINGS = [].freeze

      def self.command_name
        name[/\w+\z/].downcase
      end

      attr_reader :options

      def initialize
        @options = {}
      end

      # The exit status.
      def run(arguments)
        parser = self.parser
        rest = parse(parser, arguments)
        return show_help(parser) if options.delete(:help)

        status = call(rest) || CLI::DONE
        @interrupted ? CLI::INTERRUPTED : status
      rescue OptionParser::ParseError => e
        misused("#{e.reason}: #{e.args.join(" ")}#{nearest_option(parser, e)}")
      rescue Values::Refused => e
        misused(e.message)
      end

      def show_help(parser)
        puts parser.help
        0
      end

      def parser
        OptionParser.new do |parser|
          parser.banner = introduction
          parser.separator ""
          parser.separator "Options:"
          parser.summary_width = 23
          define_options(parser)
          parser.on("-h", "--help", "print this help") { options[:help] = true }
          define_filters(parser) if filters?
        end
      end

      private

      # The help text: what the command does, examples, usage, and details.
      def introduction
        summary, examples, usage, help = %i[SUMMARY EXAMPLES USAGE HELP].map { |name| self.class.const_get(name) }
        ["#{summary[0].upcase}#{summary[1..]}.\n", examples.gsub(/^/, "    "), "Usage: heapsample #{self.class.command_name} #{usage}\n",
         *(help unless help.empty?)].join("\n")
      end

      # Are there options that select rows of a profile?
      def filters? = false

      def misused(what)
        raise UsageError, "#{what} (see heapsample #{self.class.command_name} --help)"
      end

      def nearest_option(parser, error)
        return unless error.is_a?(OptionParser::InvalidOption)

        Nearest.question(error.args.first[/\A[^=]+/], parser.top.long.keys.map { |name| "--#{name}" })
      end

      def parse(parser, arguments)
        parser.permute(arguments)
      end

      def define_options(parser); end

      def define_output(parser, default: "required")
        endings = self.class::ENDINGS
        parser.on("-o", "--output OUTPUT", "file to write#{", #{endings.join(" or ")}" unless endings.empty?}; - is the standard output (#{default})") do |output|
          options[:output] = output
        end
      end

      # The output of -o; +paths+ are what will be read.
      def output_path(paths)
        output = options[:output] or raise UsageError, "no output given; add -o OUTPUT#{self.class::ENDINGS.first}"
        Output.check(output, paths.flat_map { |path| path != Inputs::STDIN && File.directory?(path) ? Inputs.profiles_in(path) : path })
        output
      end

      def print_written(output, more = "")
        Message.print("wrote #{output}#{more}") if $stderr.tty? && output != Inputs::STDIN
      end

      # Exactly so many arguments, or UsageError.
      def expect(arguments, range, what)
        return arguments if range.cover?(arguments.size)

        message = arguments.size < range.min ? "no #{what} given" : "too many arguments: #{arguments.drop(range.max).join(" ")}"
        raise UsageError, "#{message} (usage: heapsample #{self.class.command_name} #{self.class::USAGE})"
      end
    end
  end
end
