# frozen_string_literal: true

module HeapSample
  module Tool
    # Finds the command and runs it; every error is one line on stderr.
    #
    # Exit status: 0; 1 if it could not be done; 2 if the command line made no
    # sense; 3 if --fail-on names a verdict; 130 after Ctrl-C; of `run` the status of the command it ran.
    class CLI
      DONE = 0
      FAILED = 1
      MISUSED = 2
      INTERRUPTED = 130

      INTRODUCTION = <<~TEXT
        Show which lines of a Ruby program retain memory, and whether the program leaks.

            heapsample /var/tmp/heap/                  diagnose the processes in a folder of profiles
            heapsample heap.pb.gz                      report one profile
            heapsample ps                              list the Ruby processes on this machine
            heapsample 4711                            diagnose a running process
            heapsample why 4711                        show what retains memory in a running process
            heapsample run -- ruby app.rb              run a program with sampling, then report
            heapsample diff before.pb.gz after.pb.gz   show what grew

        Usage: heapsample FILE…|FOLDER|PID…
               heapsample COMMAND [options] FILE…|FOLDER|PID|URL
      TEXT
      NOTES = <<~TEXT

        heapsample COMMAND --help shows examples and options. heapsample --version shows the version.

        FILE is a heap profile (.pb.gz), of Ruby or of another program such as Go; - is the standard input.
        FOLDER holds profiles. Commands that read one profile use the last profile of the worst process.
        PID is a running Ruby process with the heap sampler; the path of its control socket works too.
        URL serves profiles, such as http://127.0.0.1:6060.
        Every figure is an estimate with a 95% confidence interval.
      TEXT

      def initialize(arguments)
        @arguments = arguments
      end

      def run
        on_interrupt("DEFAULT")                 # raises Interrupt
        Thread.report_on_exception = false      # an error of a thread is printed below, once
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
        INTERRUPTED
      rescue StandardError, SystemStackError => e
        raise if $DEBUG

        complain("internal error, please report it: #{e.class}: #{e.message[0, 300]} (#{e.backtrace&.first}; ruby -d shows more)", FAILED)
      ensure
        finish
      end

      private

      def help(names)
        return usage($stdout) || DONE if names.empty?

        Commands.named(names.first).new.run(["--help"])
      end

      def usage(io)
        io.write(INTRODUCTION, *Command::TASKS.map { |task| "\n#{task}:\n#{summaries(task)}" }, NOTES)
        nil
      end

      def summaries(task)
        Commands.all.select { |command| command::TASK == task }.map { |command| "    #{command.command_name.ljust(12)} #{command::SUMMARY}\n" }.join
      end

      # A command; or files and folders, options among them, which are diagnosed.
      def named(name, rest)
        inputs = !Commands::NAMES.include?(name) && @arguments.any? { |argument| Inputs.there?(argument) }
        return Commands::Diagnose.new.run(@arguments) if inputs

        Commands.named(name, "command, file or folder").new.run(rest)
      end

      def complain(error, status)
        Message.print(error.is_a?(Exception) ? error.message : error)
        status
      end

      # Unless Ctrl-C is ignored, as in the background of a script.
      def on_interrupt(handler)
        before = trap(:INT, handler)
        trap(:INT, before) if before == "IGNORE"
      end

      # What is left in the buffer would raise at exit, where it cannot be rescued.
      def finish
        on_interrupt("SYSTEM_DEFAULT")
        $stdout.flush
      rescue Errno::EPIPE
        leave
      end

      # The reader has closed the pipe, so the rest of the buffer cannot be written.
      def leave
        exit!(DONE)
      end
    end
  end
end
