# frozen_string_literal: true

require "fileutils"
require "shellwords"
require "tmpdir"

module HeapSample
  module Tool
    module Commands
      # Runs a command with sampling on, and reports what it kept.
      class Run < ReportCommand
        TAKES = [:by, :kind, :top, :stacks, *LAYOUT].freeze
        TASK = "Start and stop sampling"
        SUMMARY = "run a command with sampling, then report what it retains"
        USAGE = "[options] [SETTINGS] -- COMMAND [ARGUMENTS…]"
        EXAMPLES = <<~TEXT
          heapsample run -- ruby app.rb
          heapsample run interval=64k -- bundle exec rake test
          heapsample run -o profiles -- bin/rails runner 'Job.new.perform'
        TEXT
        HELP = <<~TEXT
          COMMAND can be any command, such as ruby, bundle exec, rake or a shell script.
          SETTINGS are settings of the sampler, such as interval=64k or every=60,keep=10 (see ruby --help).
          The command runs with RUBY_HEAP_SAMPLE and RUBYOPT set. Each Ruby with the sampler saves a profile
          at exit, after a full GC and a heap walk; child processes too. The report is printed to stderr:
          first what retains memory, then the lines that allocated it. stdout belongs to the command.
          Exit status and signals are the same as without heapsample.
        TEXT
        VARIABLE = "RUBY_HEAP_SAMPLE"
        # Loaded into each Ruby of the command; and the variable that names the folder to it.
        AT_END = File.expand_path("../../at_end.rb", __dir__)
        AT_END_VARIABLE = "HEAPSAMPLE_AT_END"
        # Of what retains memory.
        WHY_LINES = 15
        PROFILE_NAME = "heap-%p-%t.pb.gz"
        # Signals that are for the command: handed on to it.
        PASSED_ON = %w[TERM HUP QUIT USR1 USR2].freeze
        # A terminal sends these to the command as well.
        SHARED = %w[INT].freeze
        # The exit status of a shell where a signal ended a command.
        SIGNALLED = 128

        def call(arguments)
          settings, command = split(arguments)
          RubyOf.new(command).check
          folder = output_folder
          before = Inputs.profiles_in(folder)
          status = execute(command, settings, folder)
          written = Inputs.profiles_in(folder) - before
          written.empty? ? none_written(folder, settings, command) : report(written)
          exit_as(status)
        end

        private

        # Options end where the settings or the command begin.
        def parse(parser, arguments)
          at = arguments.index("--")
          raise UsageError, "the -- before the command is missing (usage: heapsample run #{USAGE})" unless at || arguments.intersect?(%w[-h --help])

          at ||= arguments.size
          rest = parser.permute(arguments[0, at])
          [rest, arguments[at + 1..] || []]
        end

        def split((settings, command))
          raise UsageError, "no command given (usage: heapsample run #{USAGE})" if command.empty?

          if settings.any? { |setting| setting.match?(/(?:\A|,)output=/) }
            raise UsageError, "output= cannot be set here; name the folder with -o"
          end
          [settings, command]
        end

        def define_own(parser)
          parser.on("-o", "--output FOLDER", "folder for the profiles (default: a temporary folder)") { |folder| options[:output] = folder }
          parser.on("-q", "--quiet", "print no report") { options[:quiet] = true }
        end

        # A comma ends a setting, also in a path.
        def output_folder
          folder = options[:output] ? File.expand_path(options[:output]) : Dir.mktmpdir("heapsample-")
          raise Failure, "#{folder}: the path must not contain a comma; name another folder" if folder.include?(",")

          FileUtils.mkdir_p(folder)
          folder
        rescue SystemCallError => e
          raise Failure, "#{options[:output]}: #{Inputs.reason(e)}"
        end

        def execute(command, settings, folder)
          settings = [*settings, "output=#{folder.gsub("%", "%%")}/#{PROFILE_NAME}"].join(",")
          child = nil
          signals = PASSED_ON.to_h { |name| [name, trap(name) { Process.kill(name, child) if child }] }
          SHARED.each { |name| signals[name] = trap(name) {} }
          child = Process.spawn({VARIABLE => settings, **at_end(folder)}, [command.first, command.first], *command.drop(1))
          Process.wait2(child).last
        rescue SystemCallError => e
          raise Failure, "#{command.first}: #{Inputs.reason(e)}"
        ensure
          child = nil
          signals&.each { |name, handler| trap(name, handler || "DEFAULT") }
        end

        # RUBYOPT cannot have a path with a space.
        def at_end(folder)
          return {} if AT_END.match?(/\s/)

          {"RUBYOPT" => "#{ENV.fetch("RUBYOPT", nil)} -r#{AT_END}".strip, AT_END_VARIABLE => folder}
        end

        # The sampler itself reports invalid settings, and samples nothing.
        def none_written(folder, settings, command)
          FileUtils.rmdir(folder) unless options[:output]
          check = settings.empty? ? "" : "#{settings.join(",")} (any error is above), and "
          Message.print("#{command.first}: no profile was written; check #{check}that its Ruby has the heap sampler")
          @missing = true
        end

        def report(paths)
          warn "", analysis(profile(paths)), "", where(paths) unless options[:quiet]
        end

        # The last one; of several processes their sum.  A profile of the end is last.
        def profile(paths)
          last = Tool::Merge.last_of_each(paths.map { |path| Tool::Merge.about(path) })
          return Inputs.load(last.first) if last.size == 1

          last.inject(Tool::Merge.new) { |merge, path| merge.add(Inputs.load(path)) }.profile(files: paths.size)
        end

        # What retains memory first, if there was a heap walk.
        def analysis(profile)
          report = HeapSample::Report.new(profile, **analysis_options(:by, :kind, :top))
          why = HeapSample::Why.new(profile, top: WHY_LINES)
          return Printable.json({**report.to_h(**options.slice(:stacks)), why: why.to_h}) if json?

          [*(why.text(**look(io: $stderr)).to_s unless why.reason), report.text(**look(io: $stderr)).to_s].join("\n")
        end

        def where(paths)
          first = Shellwords.escape(paths.last)
          more = paths.size > 1 ? " and #{paths.size - 1} more next to it" : ""
          "Profile: #{first}#{more} (read it with heapsample top, why, page …)"
        end

        # As if this process had been the command.
        def exit_as(status)
          if status.signaled?
            signal = status.termsig
            trap(signal, "DEFAULT") if PASSED_ON.include?(Signal.signame(signal)) || signal == Signal.list["INT"]
            Process.kill(signal, Process.pid) if [*PASSED_ON, *SHARED].include?(Signal.signame(signal))
            return SIGNALLED + signal
          end
          status.exitstatus.zero? && @missing ? CLI::FAILED : status.exitstatus
        end
      end

      # Which Ruby will run a command, as far as that can be found cheaply, and has
      # it the sampler?
      class RubyOf
        PROBE = "exit(defined?(GC::SampleProfile) ? 0 : 3)"
        RUBY_NAME = /\Aruby[\d.]*\z/.freeze

        def initialize(command)
          @command = command.first
        end

        # Raises Failure if it is known to have none.  A script of the shell, or a
        # program, may start any Ruby.
        def check
          path = find(@command) or raise Failure, "#{@command}: no such command"
          ruby = File.basename(path).match?(RUBY_NAME) ? path : of_script(path)
          return unless ruby && File.executable?(ruby)
          return if sampler?(ruby)

          raise Failure, "#{@command} runs on #{ruby}, a Ruby without the heap sampler#{hint(ruby)}"
        end

        private

        def find(name)
          return name if name.include?("/") && File.file?(name) && File.executable?(name)
          return if name.include?("/")

          ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).map { |folder| File.join(folder, name) }
             .find { |path| File.file?(path) && File.executable?(path) }
        end

        # The Ruby in the first line of a script.
        def of_script(path)
          first = File.open(path, "rb") { |file| file.gets("\n", 256) }.to_s
          program, argument = first.delete_prefix("#!").split if first.start_with?("#!")
          return unless program
          return find(argument) if File.basename(program) == "env" && argument&.match?(RUBY_NAME)

          program if File.basename(program).match?(RUBY_NAME)
        rescue SystemCallError
          nil
        end

        def sampler?(ruby)
          pid = Process.spawn({Run::VARIABLE => nil, "RUBYOPT" => nil, "RUBYLIB" => nil}, ruby, "--disable=gems", "-e", PROBE,
                              in: File::NULL, out: File::NULL, err: File::NULL)
          Process.wait2(pid).last.exitstatus != 3
        rescue SystemCallError
          true
        end

        def hint(ruby)
          own = RbConfig.ruby
          defined?(GC::SampleProfile) && own != ruby ? "; #{own} has it; put #{File.dirname(own)} first in PATH" : ""
        end
      end
    end
  end
end
