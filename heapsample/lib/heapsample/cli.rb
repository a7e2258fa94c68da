# frozen_string_literal: true

module HeapSample
  module Tool
    # Finds the command and runs it; every error is one line on stderr.
    #
    # Exit status: 0; 1 if it could not be done; 2 if the command line made no
    # sense; 130 after Ctrl-C; of `run` that of the command it ran.
    class CLI
      DONE = 0
      FAILED = 1
      MISUSED = 2
      NAMES = %w[run diagnose report top tree why churn generations diff leaks line shape flame convert merge info ps memory watch start set stop].freeze

      INTRODUCTION = <<~TEXT
        Usage: heapsample FOLDER|PID                  what grows, where, and how sure that is
               heapsample COMMAND [options] FILE|PID…

        Reads heap profiles (.pb.gz) of Ruby with the heap sampler, and those of Go and others as
        far as they carry. Every figure is an estimate and is given with its 95% interval.

      TEXT
      EXAMPLES = <<~TEXT

        heapsample COMMAND --help shows options and examples. To begin with:

            heapsample profiles/                       the diagnosis of all processes in a folder
            heapsample run -- ruby app.rb              profile a program, then report
            heapsample top heap-4711.pb.gz             what is in use, by line
            heapsample diff before.pb.gz after.pb.gz   what grew
            heapsample ps                              which Rubies run here, and how much they grew

        A FILE may be -, the standard input. Of a FOLDER a command that reads one profile takes the last.
        A PID is that of a running Ruby, which is asked; the path of its socket does as well, and so does
        a URL that gives profiles (http://127.0.0.1:6060). heapsample ps lists the Rubies that run here.
        heapsample --version shows the version.
      TEXT

      def initialize(arguments)
        @arguments = arguments
      end

      def run
        name, *rest = @arguments
        case name
        when nil then usage($stderr) || MISUSED
        when "help", "-h", "--help" then help(rest)
        when "--version", "version" then puts("heapsample #{VERSION}") || DONE
        else named(name, rest)
        end
      rescue UsageError => e
        complain(e, MISUSED)
      rescue Failure, FormatError, LiveProcess::Refused, View::Missing, ArgumentError => e
        complain(e, FAILED)
      rescue Errno::EPIPE
        leave
      rescue SystemCallError => e
        complain(e, FAILED)
      rescue NoMemoryError
        complain("not enough memory", FAILED)
      rescue Interrupt
        130
      ensure
        finish
      end

      private

      def help(names)
        return usage($stdout) || DONE if names.empty?

        command(names.first).run(["--help"])
      end

      def usage(io)
        io.write(INTRODUCTION, *summaries, EXAMPLES)
        nil
      end

      def summaries
        NAMES.map { |name| "    #{name.ljust(12)} #{command_class(name).summary}\n" }
      end

      # A command; or files and folders, options among them, which are diagnosed.
      def named(name, rest)
        return command_class(name).new.run(rest) if NAMES.include?(name)
        return Commands::Diagnose.new.run(@arguments) if @arguments.any? { |argument| File.exist?(argument) || Inputs.live(argument) }

        raise UsageError, "no command #{name.inspect}, and no such file or folder; heapsample help lists the commands#{Nearest.question(name, NAMES)}"
      end

      def command(name)
        return command_class(name).new if NAMES.include?(name)

        raise UsageError, "no command #{name.inspect}; heapsample help lists them#{Nearest.question(name, NAMES)}"
      end

      def command_class(name)
        Commands.const_get(name.capitalize)
      end

      def complain(error, status)
        Message.say(error.is_a?(Exception) ? error.message : error)
        status
      end

      # What is left in the buffer would raise at exit, where nobody rescues it.
      def finish
        $stdout.flush
      rescue Errno::EPIPE
        leave
      end

      # Whoever reads has seen enough; what the buffer still holds cannot go anywhere.
      def leave
        exit!(DONE)
      end
    end
  end
end
