# frozen_string_literal: true

require "optparse"

module HeapSample
  module Tool
    # One command: its options, its help, what it does.  A subclass gives SUMMARY
    # (a line), USAGE (what follows its name), HELP (text with examples), options
    # and #call, whose result is the exit status or nil.
    class Command
      include Values

      def self.command_name
        name[/\w+\z/].downcase
      end

      def self.summary
        const_get(:SUMMARY)
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

        call(rest) || 0
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
          parser.banner = "Usage: heapsample #{self.class.command_name} #{self.class::USAGE}"
          parser.separator ""
          parser.separator self.class::HELP
          parser.separator "Options:"
          parser.summary_width = 22
          define_options(parser)
          parser.on("-h", "--help", "this help") { options[:help] = true }
        end
      end

      private

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

      def define_output(parser, formats = nil)
        parser.on("-o", "--output OUTPUT", "the file to write#{": #{formats}" if formats}; - is the standard output") do |output|
          options[:output] = output
        end
      end

      # Where -o says; +example+ is the end of such a name, and +paths+ are what will be read.
      def output_path(paths, example = "")
        output = options[:output] or raise UsageError, "write it where? -o OUTPUT#{example}"
        Output.check(output, paths.flat_map { |path| path != Inputs::STDIN && File.directory?(path) ? Inputs.profiles_in(path) : path })
        output
      end

      def tell_written(output, more = "")
        Message.say("wrote #{output}#{more}") if $stderr.tty? && output != Inputs::STDIN
      end

      # Exactly so many arguments, or UsageError.
      def expect(arguments, range, what)
        return arguments if range.cover?(arguments.size)

        message = arguments.size < range.min ? "which #{what}?" : "too many arguments: #{arguments.drop(range.max).join(" ")}"
        raise UsageError, "#{message} (usage: heapsample #{self.class.command_name} #{self.class::USAGE})"
      end
    end
  end
end
