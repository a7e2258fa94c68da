# The programs of `benchmark/run real`, the ways to run each, and how one run becomes figures.
require "digest"
require "json"
require_relative "../support"

module Real
  HERE = __dir__
  OUT = File.join(Bench::OUT, "real")
  GEMS = File.join(HERE, "gems.txt")
  PRELUDE = File.join(HERE, "prelude.rb")

  # A way to run a program: which Ruby, with which options and environment.
  Configuration = Struct.new(:name, :ruby, :options, :environment) do
    # Results of another build are not mixed with the results of this one.
    def build
      @build ||= begin
        files = [File.realpath(ruby), *Dir[File.expand_path("../../lib/libruby*.so", File.realpath(ruby))]]
        Digest::SHA256.hexdigest(files.map { |file| Digest::SHA256.file(file).hexdigest }.join)[0, 12]
      end
    end
  end

  def self.sampled(name, settings) = Configuration.new(name, Bench::RUBY, ["--heap-sample=output=none#{settings}"], {})

  # stock2 is stock again: what the two differ by is what the machine adds.
  CONFIGURATIONS = [
    Configuration.new("stock", Bench::STOCK_RUBY, [], {}),
    Configuration.new("stock2", Bench::STOCK_RUBY, [], {}),
    Configuration.new("off", Bench::RUBY, [], {}),
    sampled("slots", ",interval=512k,malloc=off"),
    sampled("both", ",interval=512k,malloc=512k"),
    sampled("auto", ",interval=auto,malloc=auto"),
    sampled("both-128k", ",interval=128k,malloc=128k"),
    Configuration.new("jemalloc", Bench::STOCK_RUBY, [], { "MALLOC_CONF" => "prof:true,prof_active:true,lg_prof_sample:19" }),
  ].freeze

  # A program that is a process of its own: `amount` is how much it does, 5 to 15 s of processor time.
  class Program
    attr_reader :name, :amount

    CPU = "CPU, s".freeze
    CPU_FORMAT = "%.3f".freeze
    MEMORY = "max RSS, MiB".freeze

    def initialize(name, amount)
      @name = name
      @amount = amount
    end

    def cpu_label = self.class::CPU
    def cpu_format = self.class::CPU_FORMAT
    def memory_label = self.class::MEMORY

    # Changes when the program does.
    def version = Digest::SHA256.hexdigest(sources.map { |file| File.binread(file) }.join)[0, 12]

    # `objects`: see prelude.rb.
    def measure(configuration, amount, objects)
      file = File.join(OUT, "figures.json")
      FileUtils.rm_f(file)
      environment = self.environment.merge(configuration.environment, "BENCH_FIGURES" => file, "BENCH_OBJECTS" => objects.to_s)
      cpu = Bench.cpu_seconds { Bench.run(*command(configuration, amount), env: environment, dir: OUT) }
      { "cpu" => cpu, **JSON.parse(File.read(file)) }
    end

    private

    def script = File.join(HERE, "#{name}.rb")
    def sources = [script, GEMS, PRELUDE]
    def environment = Setup.environment

    def command(configuration, amount)
      [configuration.ruby, "--yjit", *configuration.options, "-r", PRELUDE, "-rbundler/setup", script, amount.to_s]
    end
  end

  # Rails under Puma: puma.rb measures it, and gives the figures of all workers together.
  class Server < Program
    CPU = "CPU of a request, ms".freeze
    MEMORY = "PSS of 4 workers, MiB".freeze

    def measure(configuration, amount, objects)
      command = [configuration.ruby, "--yjit", *configuration.options, "-r", PRELUDE, "-rbundler/setup"]
      environment = self.environment.merge("BENCH_TMP" => tmp)
      command = ["env", "BENCH_OBJECTS=#{objects}", *configuration.environment.map { |pair| pair.join("=") }, *command]
      JSON.parse(Bench.run(Bench::STOCK_RUBY, script, amount.to_s, *command, env: environment, dir: OUT).lines.last)
    end

    private

    def sources = [*super, *Dir[File.join(HERE, "rails/**/*")].select { |file| File.file?(file) }.sort]
    def tmp = File.join(OUT, "rails").tap { |dir| FileUtils.mkdir_p(dir) }
  end

  # A benchmark of ruby/ruby-bench, as its authors wrote it; `amount` is iterations.
  class RubyBench < Program
    FOLDER = ENV["RUBY_BENCH"]

    def self.environment
      gems = File.join(File.expand_path(FOLDER), "gems")
      { "GEM_HOME" => nil, "GEM_PATH" => nil, "BUNDLE_GEMFILE" => nil, "BUNDLE_VERSION" => "system", "BUNDLE_PATH" => gems,
        "BUNDLE_APP_CONFIG" => File.join(gems, "config"), "BUNDLE_WITHOUT" => "development:test",
        "RAILS_ENV" => "production" }
    end

    def folder = File.join(File.expand_path(FOLDER), "benchmarks", benchmark)
    def script = File.join(folder, "benchmark.rb")

    private

    def benchmark = name.delete_prefix("ruby-bench/")
    def sources = [script, File.join(HERE, "harness/harness.rb"), PRELUDE]
    def environment = RubyBench.environment

    def command(configuration, amount)
      ["env", "BENCH_ITERATIONS=#{amount}", configuration.ruby, "--yjit", *configuration.options,
       "-r", PRELUDE, "-I", File.join(HERE, "harness"), script]
    end
  end

  OWN = [
    Program.new("hexapdf", 60), Program.new("activerecord", 500), Program.new("erubi", 40_000), Program.new("liquid", 3_000),
    Program.new("mail", 2_000), Program.new("psych", 400), Program.new("rubyboy", 3_000), Server.new("puma", 2_000),
  ].freeze
  THEIRS = {
    "hexapdf" => 4, "activerecord" => 50, "erubi-rails" => 12, "liquid-render" => 120, "mail" => 30, "psych-load" => 5,
    "optcarrot" => 6, "railsbench" => 3, "lobsters" => 3, "shipit" => 3,
  }.map { |name, iterations| RubyBench.new("ruby-bench/#{name}", iterations) }.freeze

  # Gems, installed once, by the stock Ruby: both Rubies load the same files.
  module Setup
    BUNDLE = File.join(OUT, "bundle")

    module_function

    # The lock names the package source of this machine: it stays out of the source tree.
    def environment
      { "GEM_HOME" => nil, "GEM_PATH" => nil, "BENCH_GEMS" => GEMS, "BUNDLE_GEMFILE" => File.join(OUT, "Gemfile"),
        "BUNDLE_PATH" => BUNDLE, "BUNDLE_APP_CONFIG" => File.join(BUNDLE, "config") }
    end

    def own
      FileUtils.mkdir_p(OUT)
      FileUtils.cp(File.join(HERE, "Gemfile"), OUT)
      return if quiet("bundle check", environment, "bundle", "check", dir: OUT)
      warn "installing gems"
      quiet("bundle install", environment, "bundle", "install", "--jobs", "2", dir: OUT) or
        abort "the gems do not install; the whole output is in build/bench/real/bundle-install.log"
    end

    # Which of ruby-bench's programs can be run here. One that cannot be set up is named, and left out.
    def theirs(programs)
      FileUtils.mkdir_p(OUT)
      programs.select do |program|
        done = File.join(OUT, "#{log_of(program)}.done")
        next true if File.exist?(done)
        warn "setting up #{program.name}"
        if File.exist?(program.script) && installs?(program) && runs?(program)
          FileUtils.touch(done)
        else
          warn "left out: #{program.name} does not run here; see build/bench/real/#{log_of(program)}.log"
        end
      end
    end

    def log_of(program) = program.name.tr("/", "-")

    def installs?(program) = benchmark(program, "BENCH_SETUP" => "1")

    # One iteration: its database may be missing, too.
    def runs?(program) = benchmark(program, "BENCH_ITERATIONS" => "1")

    def benchmark(program, environment)
      command = [Bench::STOCK_RUBY, "-I", File.join(HERE, "harness"), program.script]
      quiet(log_of(program), RubyBench.environment.merge(environment), *command)
    end

    def quiet(name, environment, *command, dir: OUT)
      command = [Bench::STOCK_RUBY, "-S", *command] if command.first == "bundle"
      path = { "PATH" => "#{File.dirname(File.realpath(Bench::STOCK_RUBY))}:#{ENV["PATH"]}" }
      log = File.join(OUT, "#{name.tr(" ", "-")}.log")
      system(Bench::ENVIRONMENT.merge(path, environment), *command, chdir: dir, out: log, err: %i[child out])
    end
  end
end
