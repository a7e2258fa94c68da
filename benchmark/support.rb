# What the benchmarks share: which Rubies they compare, how instructions and time are counted,
# how a table is printed. The driver may run on any Ruby; what it measures runs in processes of its own.

require "etc"
require "fileutils"
require "open3"
require "rbconfig"

module Bench
  TOP = File.expand_path("..", __dir__)
  OUT = File.join(TOP, "build/bench")
  GEMS = File.join(OUT, "gems")
  RUBY = ENV["RUBY"] || File.join(TOP, "build/3.4/prefix/bin/ruby")
  STOCK_RUBY = ENV["STOCK_RUBY"] || File.join(TOP, "build/3.4-stock/prefix/bin/ruby")

  # Nothing of the caller's Ruby reaches those that are measured.
  ENVIRONMENT = {
    "RUBYOPT" => nil, "RUBYLIB" => nil, "RUBY_HEAP_SAMPLE" => nil, "RUBY_YJIT_ENABLE" => nil, "MALLOC_CONF" => nil,
    "GEM_HOME" => GEMS, "GEM_PATH" => GEMS, "LC_ALL" => "C.UTF-8", "TZ" => "UTC",
  }.freeze

  FileUtils.mkdir_p(OUT)
  $stdout.sync = true

  module_function

  # The settings of a run: what comes between `ruby` and the script. The seed makes the samples the
  # same in each run; it changes no cost. malloc is left out unless asked for: the slot sampler alone.
  def sampling(interval, malloc: "off") = ["--heap-sample=interval=#{interval},malloc=#{malloc},output=none,seed=1"]

  def here(path) = File.join(__dir__, path)

  # --- processes

  # Standard output of a run; an exception with all it said if it fails.
  def run(*command, env: {}, dir: OUT)
    out, err, status = Open3.capture3(ENVIRONMENT.merge(env), *command, chdir: dir)
    raise "#{shown(command)}\n#{status}\n#{out}#{err}" unless status.success?
    out
  end

  # A command as one would type it at the top of the checkout.
  def shown(command)
    command.map { |word|
      word = word.sub(RUBY, "$RUBY").sub(STOCK_RUBY, "$STOCK_RUBY").sub("#{TOP}/", "")
      word.match?(/\s|[();"']/) ? "'#{word}'" : word
    }.join(" ")
  end

  # --- instructions

  # A library that takes chance away: hash seeds come from getrandom or arc4random_buf.
  def steady
    @steady ||= File.join(OUT, "steady.so").tap do |library|
      source = here("steady.c")
      next if File.exist?(library) && File.mtime(library) > File.mtime(source)
      run("gcc", "-shared", "-fPIC", "-O1", "-o", library, source)
    end
  end

  # User-space instructions of one run, with fixed addresses and fixed hash seeds.
  # In addition whatever the script printed.
  # +within+: of one C function and what it calls alone, once the program has called steady_count.
  def instructions(ruby, *arguments, profile: nil, within: nil, env: {})
    command = ["setarch", "-R", "valgrind", "--tool=callgrind",
               "--callgrind-out-file=#{profile || "/dev/null"}", *(["--toggle-collect=#{within}", "--instr-atstart=no"] if within), ruby, "--disable=yjit", *arguments]
    out, err, status = Open3.capture3(ENVIRONMENT.merge("LD_PRELOAD" => steady, **env), *command, chdir: OUT)
    count = err[/Collected : (\d+)/, 1]
    raise "#{shown(command)}\n#{out}#{err}" unless status.success? && count
    Counted.new(count.to_i, out)
  end

  Counted = Struct.new(:instructions, :output)

  # --- time

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def seconds
    start = now
    yield
    now - start
  end

  # User and system time of the processes that the block runs.
  def cpu_seconds
    before = Process.times
    yield
    after = Process.times
    after.cutime + after.cstime - before.cutime - before.cstime
  end

  # Runs the named blocks in turn, round after round, beginning with another one each round, so that
  # whatever else the machine does meets them all alike. Returns name => [result of each round].
  def interleaved(rounds, blocks)
    results = blocks.transform_values { [] }
    names = blocks.keys
    rounds.times do |round|
      names.rotate(round).each { |name| results[name] << blocks[name].call }
    end
    results
  end

  def median(values)
    sorted = values.sort
    middle = sorted.size / 2
    sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
  end

  # Of `of` to `to`, pair by pair: median, and the range of the middle half.
  def ratios(of, to)
    pairs = of.zip(to).map { |a, b| a.fdiv(b) }.sort
    [median(pairs), pairs[pairs.size / 4], pairs[-1 - pairs.size / 4]]
  end

  # --- tables

  def title(text, *notes)
    puts text, "=" * text.size
    puts "repeat: benchmark/run #{File.basename($PROGRAM_NAME, ".rb")}"
    notes.each { |note| puts note }
    puts
  end

  def table(head, rows)
    lines = [head, *rows].map { |row| row.map(&:to_s) }
    widths = lines.transpose.map { |column| column.map(&:size).max }
    lines.each_with_index do |line, i|
      puts line.each_with_index.map { |cell, c| c.zero? ? cell.ljust(widths[c]) : cell.rjust(widths[c]) }.join("  ").rstrip
      puts widths.map { |width| "-" * width }.join("  ") if i.zero?
    end
    puts
  end

  def ratio(value) = format("%.4f", value)

  # --- extensions and gems

  # Builds an extension, benchmark/NAME, for a Ruby; returns the folder that holds the library.
  def extension(name, ruby)
    version = run(ruby, "-rdigest", "-rrbconfig", "-e", "print Digest::SHA256.file(RbConfig.ruby).hexdigest[0, 12]")
    File.join(OUT, "#{name}-#{version}").tap do |dir|
      library = File.join(dir, "#{name}.so")
      next if File.exist?(library) && File.mtime(library) > File.mtime(here("#{name}/#{name}.c"))
      FileUtils.mkdir_p(dir)
      run(ruby, here("#{name}/extconf.rb"), dir: dir)
      run("make", dir: dir)
    end
  end

  # Installs a gem of benchmark/gems.txt for the Rubies measured; false if that fails (its output is in OUT).
  def gem?(name)
    version = File.read(here("gems.txt"))[/^#{Regexp.escape(name)} (\S+)/, 1] or raise "#{name} is not in gems.txt"
    return true if Dir.exist?(File.join(GEMS, "done", "#{name}-#{version}"))
    log = File.join(OUT, "gem-#{name}.log")
    command = [STOCK_RUBY, "-S", "gem", "install", "--no-document", "--install-dir", GEMS, "-v", version, name]
    return false unless system(ENVIRONMENT, *command, out: log, err: %i[child out])
    FileUtils.mkdir_p(File.join(GEMS, "done", "#{name}-#{version}"))
    true
  end
end
