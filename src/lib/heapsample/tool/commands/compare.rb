# frozen_string_literal: true

require "fileutils"

module HeapSample
  module Tool
    module Commands
      # Repeated runs of a command: makes them, compares two sets of them, or checks budgets.
      class Compare < ReportCommand
        FORMATS = %w[markdown junit].freeze
        TAKES = [:format, *LAYOUT].freeze
        TASK = "Find a leak"
        SUMMARY = "compare what runs of a test suite or a script allocate, retain and need at most"
        USAGE = "[options] FOLDER -- COMMAND…, or BASE HEAD, or FOLDER --budget FILE"
        EXAMPLES = <<~TEXT
          heapsample compare base -- bundle exec rake test    on the main branch: run it until 1% can be found
          heapsample compare head -- bundle exec rake test    on your branch
          heapsample compare base head                        what is higher; exit status 3 if something is
          heapsample compare base head --format markdown      for the pull request; --format junit for CI
          heapsample compare head --budget memory.json        against budgets; --accept writes them
        TEXT
        HELP = <<~TEXT
          The first run fills caches, and does not count. "Higher" differs in all runs, by the limit or more, and
          by more than noise. At most one of a hundred comparisons of equal code names anything.
          On a Ruby with the heap sampler, lines, gems and tests are compared. On others, tests by objects allocated.
        TEXT
        RUNS_LEAST = 5
        RUNS_MOST = 21
        SETTINGS = "interval=4k,malloc=16k,output=none,quiet,socket=off"
        # Loaded into each Ruby of the command.
        RUN_LOG = File.expand_path("../../run_log.rb", __dir__)

        def call((paths, command))
          return record(expect(paths, 1..1, "folder").first, command) if command
          return check(expect(paths, 1..1, "folder").first) if options[:budget]

          raise UsageError, "--accept is for --budget FILE" if options[:accept]

          comparison = HeapSample::Comparison.new(*expect(paths, 2..2, "pair of folders").map { |path| runs(path) }, limit: limit)
          print_analysis(comparison)
          comparison.higher? ? FailOn::STATUS : CLI::DONE
        end

        private

        # Options end where the command begins.
        def parse(parser, arguments)
          at = arguments.index("--") || arguments.size
          [parser.permute(arguments[0, at]), arguments[at + 1..]]
        end

        def define_own(parser)
          parser.on("--limit PERCENT", "smallest change to find, of a whole run (default: #{format("%g", HeapSample::Comparison::LIMIT * 100)})") do |limit|
            options[:limit] = number("--limit", limit.delete_suffix("%"), 0.1..100.0, "a number from 0.1 to 100") / 100
          end
          parser.on("--runs RUNS", "runs to make (default: as many as the limit needs, #{RUNS_LEAST} to #{RUNS_MOST})") { |runs| options[:runs] = positive("--runs", runs) }
          parser.on("--budget FILE", "compare one FOLDER with this file of budgets (default: none)") { |file| options[:budget] = file }
          parser.on("--accept", "write the file of budgets from these runs") { options[:accept] = true }
        end

        def limit = options[:limit] || HeapSample::Comparison::LIMIT

        def runs(path)
          raise Inputs.missing(path) unless File.directory?(path)

          Progress.show("reading #{path}") { RunFolder.new(path) }
        end

        # -- runs

        def record(folder, command)
          raise UsageError, "no command given (usage: heapsample compare #{USAGE})" if command.empty?
          raise Failure, "#{folder}: has runs already; remove it, or name another folder" unless RunFolder.names(folder).empty?

          made = 0
          make_run(folder, command, made += 1) while made < (options[:runs] || RUNS_LEAST) || (options[:runs].nil? && made < RUNS_MOST && more?(folder))
          Message.print("#{made} runs in #{folder}")
        end

        # Would the runs so far miss a change of the limit?
        def more?(folder)
          runs = RunFolder.new(folder)
          needed = HeapSample::Comparison.new(runs, runs, limit: limit).runs_needed || RUNS_MOST
          runs.size < needed
        end

        def make_run(folder, command, number)
          name = File.join(folder, format("run-%03d", number))
          output = "#{name}.out"
          FileUtils.mkdir_p(name)
          status = Progress.show("run #{number}") { execute(command, name, output) }
          return if status.success? && Dir.children(name).any?

          FileUtils.rm_rf(name)
          raise Failure, status.success? ? "#{command.first}: no Ruby ran in it, or it ended with exit!" : "#{command.first} failed (#{status}); its output is in #{output}"
        end

        def execute(command, folder, output)
          raise Failure, "#{RUN_LOG}: RUBYOPT cannot have a path with a blank" if RUN_LOG.match?(/\s/)

          environment = {RUN_VARIABLE => File.expand_path(folder), "RUBYOPT" => "#{ENV.fetch("RUBYOPT", nil)} -r#{RUN_LOG}".strip, "RUBY_HEAP_SAMPLE" => SETTINGS}
          Process.wait2(Process.spawn(environment, [command.first, command.first], *command.drop(1), out: output, err: %i[child out])).last
        rescue SystemCallError => e
          raise Failure, "#{command.first}: #{Inputs.reason(e)}"
        end

        RUN_VARIABLE = "HEAPSAMPLE_RUN"
        private_constant :RUN_VARIABLE

        # -- budgets

        def check(path)
          runs, file = runs(path), options[:budget]
          return accept(runs, file) if options[:accept]

          budget = Inputs.opened(file) { Budget.load(file) }
          over = budget.over(runs, limit: limit)
          print_over(budget, runs, over)
          over.empty? ? CLI::DONE : FailOn::STATUS
        end

        def accept(runs, file)
          Budget.of(runs).save(file)
          Message.print("wrote #{file}: budgets from #{runs.size} runs")
        end

        def print_over(budget, runs, over)
          return puts Printable.json({over: over.map(&:to_h), environment: budget.environment(runs)}) if json?

          layout = Layout.new(**look)
          differ = budget.environment(runs).map { |name, one, other| "#{name}: #{one || "none"} → #{other || "none"}" }
          puts layout.sentence("What else differs from the budgets: #{differ.join("; ")}.") if differ.any?
          puts over.empty? ? "Within the budgets." : over.map { |one| layout.sentence(over_sentence(one, layout)) }
        end

        def over_sentence(over, layout)
          title, bytes = RunFolder::FIGURES.fetch(over.figure)
          amount = ->(value) { bytes ? layout.bytes(value) : layout.count(value) }
          "Over budget: #{"#{over.test}: " if over.test}#{title}: #{amount[over.mean]}, the budget is #{amount[over.budget]}."
        end
      end
    end
  end
end
