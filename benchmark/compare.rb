# Six leaks of published gems under six profilers: which of them names the line, the class and what retains it, and what
# does it cost? The programs are from the zoo (test/zoo/programs): their load is paced, and they run for 62 s.
# All configurations of a program run at the same time, so that other work on the machine meets them alike; `stock` runs twice.
# The longest stop of a program means something only where the processors are free: see --realtime.
#
#   benchmark/run compare                                    # three rounds, half an hour
#   benchmark/run compare -- --rounds 1 --programs json_exception --tools ours,jeprof
#   benchmark/run compare -- --table                         # judges what was recorded in build/bench/compare
#   benchmark/run compare -- --realtime                      # as root, on a machine with no other users: it starves all else
require_relative "support"
require_relative "../test/zoo/exhibit"
require_relative "../test/zoo/gem_folder"
require_relative "profilers/leaks/answers"
require "optparse"

module Compare
  OUT = File.join(Bench::OUT, "compare")
  LEAKS = File.join(Bench::TOP, "benchmark/profilers/leaks")
  GRACE = 120 # seconds to load gems, and for what a profiler does at the exit

  # What is true of each program. `line`: allocates the memory that leaks, or retains it; `function`: the C function that
  # allocates it; `klass`: of the objects; `holder`: what retains it, where something does. A dump has no names of instance
  # variables: there the holder is a container with thousands of references in the path from the root.
  Truth = Struct.new(:line, :function, :klass, :holder, keyword_init: true)
  TRUTH = {
    "json_exception" => Truth.new(line: /json_exception\.rb:18|json\/common\.rb/, function: /fbuffer_/),
    "protobuf_arena" => Truth.new(line: /protobuf_arena\.rb:14/, function: /Arena_/),
    "honeybadger_threads" => Truth.new(line: /honeybadger\/events_worker\.rb:106/, function: /thread_s_new/,
                                       klass: /\bThread\b|threads grew/),
    "aws_clock_skew" => Truth.new(line: /retries\/clock_skew\.rb:7\d|uri\/generic\.rb/, klass: /\bString\b/,
                                  holder: /@endpoint_estimated_skews|Aws::Plugins::Retries::ClockSkew \(/),
    "sqlite3_aggregate" => Truth.new(line: /sqlite3_aggregate\.rb:(17|18|27)|sqlite3\/(database|resultset)\.rb/,
                                     klass: /Proxy|Median|\bArray\b|\bHash\b|anonymous Class/, # an instance has a FunctionProxy (a Hash) and an Array
                                     holder: /aggregators of SQLite3::Database|ARRAY .*\(\d{4,} refs\)/),
    "sinatra_proc" => Truth.new(line: /sinatra_proc\.rb:21|tilt\/(template|builder|cache|mapping)\.rb|sinatra\/base\.rb/,
                                klass: /Tilt::BuilderTemplate|\bProc\b|\bBinding\b|\bHash\b/, holder: /Tilt::Cache|template_cache|@cache|HASH .*\(\d{4,} refs\)/),
  }.freeze

  Tool = Struct.new(:name, :ruby, :preload, :environment, :answer, :priority, keyword_init: true) do
    # Profilers that take little processor time run before the others.
    def realtime = ["chrt", "--rr", priority.to_s]
    def command(program) = [ruby, "-r", "#{LEAKS}/measure.rb", *(["-r", "#{LEAKS}/#{preload}.rb"] if preload), program]
  end

  def self.stock(name, preload: nil, answer: nil, priority: 3, &environment)
    Tool.new(name: name, ruby: Bench::STOCK_RUBY, preload: preload, priority: priority, environment: environment || ->(_) { {} }, answer: answer)
  end

  TOOLS = [
    stock("stock"),
    stock("stock again"),
    Tool.new(name: "ours, default", ruby: Bench::RUBY, priority: 3, environment: ->(_) { { "RUBY_HEAP_SAMPLE" => "output=none" } }),
    Tool.new(name: "ours", ruby: Bench::RUBY, priority: 3, answer: Answers::Ours,
             environment: ->(dir) { { "RUBY_HEAP_SAMPLE" => "every=2,diagnose=1%,quiet,output=#{dir}/profiles/" } }),
    stock("datadog", preload: "datadog", answer: Answers::Datadog),
    stock("heapy, sheap", preload: "heap_dumps", priority: 2, answer: Answers::HeapDumps),
    stock("memory_profiler", preload: "memory_profiler", priority: 1, answer: Answers::MemoryProfiler),
    stock("vernier", preload: "vernier", priority: 2, answer: Answers::Vernier),
    stock("jeprof", answer: Answers::Jeprof) { |dir| { "MALLOC_CONF" => "prof:true,lg_prof_interval:26,prof_final:true,prof_prefix:#{dir}/jeprof" } },
  ].freeze

  # One program under one tool in one round: what was recorded of it, and what the tool answers.
  class Run
    attr_reader :program, :tool

    def initialize(program, tool, round)
      @program = program
      @tool = tool
      @dir = File.join(OUT, round.to_s, program, tool.name.tr(", ", "_"))
    end

    def recorded? = File.exist?("#{@dir}/measured") && File.exist?("#{@dir}/cpu")

    # In a process of its own, whose children are the program and all that it forked: their processor time is this run's.
    def record(realtime:)
      FileUtils.rm_rf(@dir)
      FileUtils.mkdir_p(@dir)
      fork do
        before = Process.times
        Process.wait(Process.spawn(environment, *(tool.realtime if realtime), "timeout", "-k", "5", (62 + GRACE).to_s, *tool.command(path), chdir: @dir, %i[out err] => "#{@dir}/log"))
        after = Process.times
        File.write("#{@dir}/cpu", after.cutime + after.cstime - before.cutime - before.cstime) if $?.success?
        exit!
      end
    end

    def cpu = Float(File.read("#{@dir}/cpu"))
    def stop = Float(File.read("#{@dir}/measured").split[0])
    def memory = Float(File.read("#{@dir}/measured").split[1]) / 1024
    def answer = @answer ||= tool.answer.new(@dir, TRUTH.fetch(program)).tap { |answer| File.write("#{@dir}/answer.txt", answer.text) }

    private

    def path = File.join(Exhibit::PROGRAMS, "#{program}.rb")
    def gems = Header.read(path).gems.map { |gem| gem.join(" ") }.join(",")
    def environment = { **Bench::ENVIRONMENT, "COMPARE_OUT" => @dir, "COMPARE_GEMS" => gems, **tool.environment.call(@dir) }
  end

  module_function

  def install(programs)
    GemFolder.new(Bench::GEMS, ruby: Bench::STOCK_RUBY).install(Exhibit.all.reject(&:mended?).select { |exhibit| programs.include?(exhibit.name) })
    %w[datadog memory_profiler vernier heapy sheap].each { |name| Bench.gem?(name) or raise "#{name} could not be installed: #{Bench::OUT}/gem-#{name}.log" }
  end

  def record(programs, tools, rounds, realtime:)
    rounds.times do |round|
      programs.each do |program|
        tools.rotate(round).map { |tool| Run.new(program, tool, round).record(realtime: realtime) }.each { |pid| Process.wait(pid) }
        puts "round #{round + 1} of #{rounds}: #{program}"
      end
    end
  end

  # Of the rounds that were recorded of a program under a tool.
  def runs(program, tool)
    Dir.children(OUT).grep(/\A\d+\z/).sort.map { |round| Run.new(program, tool, round) }.select(&:recorded?)
  end

  def answers(programs, tools)
    asked = tools.select(&:answer)
    head = ["", *asked.map(&:name)]
    Bench.table(head, programs.map { |program| [program, *asked.map { |tool| summary(runs(program, tool).map(&:answer)) }] })
    puts "The place in the tool's list of what names the line or the C function (no: not among the first ten), then what the tool shows", ""
  end

  # "1: line, class, holder (2 of 3)": the places in the rounds, and what the tool shows, in so many of them.
  def summary(answers)
    places = answers.map { |answer| answer.place || "no" }.uniq.join(" or ")
    shown = answers.flat_map(&:shown).tally.map { |what, times| times == answers.size ? what : "#{what} (#{times} of #{answers.size})" }
    shown.empty? ? places : "#{places}: #{shown.join(", ")}"
  end

  # Ratios are to the stock run of the same round; medians over rounds, then over the programs.
  def costs(programs, tools)
    rows = tools.map do |tool|
      [tool.name, *%i[cpu stop memory].flat_map { |figure| figures(programs, tool, figure) }]
    end
    Bench.table(["", "CPU to stock", "range", "longest stop, ms", "range", "peak RSS less stock's, MiB", "range"], rows)
  end

  def figures(programs, tool, figure)
    values = programs.filter_map do |program|
      pairs = runs(program, tool).zip(runs(program, TOOLS.first)).reject { |pair| pair.any?(&:nil?) }
      next if pairs.empty?

      Bench.median(pairs.map { |run, stock| compared(figure, run.public_send(figure), stock.public_send(figure)) })
    end
    return ["", ""] if values.empty?

    digits = figure == :cpu ? "%.2f" : "%.0f"
    [format(digits, Bench.median(values)), values.minmax.map { |value| format(digits, value) }.join("..")]
  end

  def compared(figure, value, stock)
    case figure
    when :cpu then value / stock
    when :stop then value
    when :memory then value - stock
    end
  end
end

programs = Compare::TRUTH.keys
tools = Compare::TOOLS
rounds = 3
table = realtime = false
OptionParser.new do |options|
  options.on("--programs LIST", Array) { |list| programs = list }
  options.on("--tools LIST", Array, "stock runs too") { |list| tools = tools.select { |tool| tool.name.start_with?("stock", *list) } }
  options.on("--rounds N", Integer) { |n| rounds = n }
  options.on("--table") { table = true }
  options.on("--realtime") { realtime = true }
end.parse!

unless table
  Compare.install(programs)
  Compare.record(programs, tools, rounds, realtime: realtime)
end
Bench.title("Published leaks under other profilers")
Compare.answers(programs, tools)
Compare.costs(programs, tools)
