require "json"
require "zlib"

# How each tool's own result is printed, and what in it is looked for.
module Answers
  JEPROF = File.join(Bench::TOP, "build/jemalloc-5.3.1/src/bin/jeprof")

  # `rows`: what the tool lists, largest first; `text`: all that it shows.
  class Answer
    FIRST = 10 # rows that a person reads

    def initialize(dir, truth)
      @dir = dir
      @truth = truth
    end

    def place = rows.first(FIRST).index { |row| row.match?(named) }&.succ
    def klass? = @truth.klass && place && classes.match?(@truth.klass)
    def holder? = @truth.holder && holders.match?(@truth.holder)
    def leak? = false
    def text = rows.first(FIRST).join("\n")
    def classes = named_rows.join("\n")
    def holders = ""

    # What the tool shows.
    def shown
      { "line" => shows?(@truth.line), "function" => @truth.function && shows?(@truth.function), "class" => klass?, "holder" => holder?, "leak" => leak? }
        .select { |_, is| is }.keys
    end

    private

    def shows?(pattern) = named_rows.any? { |row| row.match?(pattern) }
    def named_rows = rows.first(FIRST).grep(named)
    def named = Regexp.union(*[@truth.line, @truth.function].compact)
    def run(*command, **options) = Bench.run(*command, **options)
    def gem(name) = File.join(Bench::GEMS, "bin", name)
  end

  class Ours < Answer
    def text = @text ||= run(Bench::RUBY, File.join(File.dirname(Bench::RUBY), "heapsample"), "#{@dir}/profiles")
    def leak? = text.match?(/^.*Leak \((likely|confirmed)\)/)
    # The first paragraphs belong to the first finding.
    def rows = text.split(/^(?=[2-9]\. )/)
    def holders = text
  end

  # Live objects by class and stack: the samples of the profile that it would have uploaded after 60 s, printed by Go's pprof.
  class Datadog < Answer
    def rows = @rows ||= stacks.sort_by { |_, bytes| -bytes }.map { |stack, bytes| "#{bytes} #{stack}" }

    private

    def stacks
      profile = "#{@dir}/datadog-1.pprof"
      run("zstd", "-qdf", "#{profile}.zst", "-o", profile)
      samples = run("go", "tool", "pprof", "-traces", "-lines", "-unit=B", "-sample_index=heap-live-size", profile).split(/^-+\+-+$/)
      samples.each_with_object(Hash.new(0)) do |sample, sums|
        bytes = sample[/^\s+(\d+)B /, 1].to_i
        sums[sample.sub(/^.*gc gen age:.*\n/, "").sub(/^(\s+)\d+B /, '\1').strip.squeeze(" ")] += bytes if bytes.positive?
      end
    end
  end

  class HeapDumps < Answer
    def rows = @rows ||= run(Bench::STOCK_RUBY, gem("heapy"), "diff", *dumps).lines.map(&:chomp)
    def text = "#{super}\n#{holders}"
    def classes = holders.lines.first.to_s
    def holders = @holders ||= (place ? run(Bench::STOCK_RUBY, "#{Compare::LEAKS}/sheap.rb", *dumps, rows[place - 1][/ at: (.*)/, 1]) : "")

    private

    def dumps = Dir["#{@dir}/*.dump"].sort
  end

  class MemoryProfiler < Answer
    def rows = section("retained memory by location")
    def classes = section("retained memory by class").first(FIRST).join("\n")

    private

    def section(name) = File.read("#{@dir}/memory_profiler.txt")[/^#{name}\n-+\n(.*?)\n\n/m, 1].to_s.lines.map(&:chomp)
  end

  # It has no classes, though a stack may end in `Thread.new`.
  class Vernier < Answer
    def classes = ""
    def rows = @rows ||= stacks.sort_by { |_, bytes| -bytes }.map { |stack, bytes| "#{bytes} #{stack}" }

    private

    # The stacks of the Firefox profile that it writes, outermost line first, with the bytes that are retained.
    def stacks
      thread = JSON.parse(Zlib.gunzip(File.binread("#{@dir}/vernier.json.gz")))["threads"][0]
      samples = thread["samples"]
      samples["stack"].zip(samples["weight"]).each_with_object(Hash.new(0)) { |(stack, bytes), sums| sums[lines(thread, stack)] += bytes }
    end

    def lines(thread, stack)
      frames, functions, strings = thread.values_at("frameTable", "funcTable", "stringArray")
      lines = []
      while stack
        frame = thread["stackTable"]["frame"][stack]
        function = frames["func"][frame]
        lines << "#{strings[functions["name"][function]]} #{strings[functions["fileName"][function]]}:#{frames["line"][frame]}"
        stack = thread["stackTable"]["prefix"][stack]
      end
      lines.reverse.join(";")
    end
  end

  # Growth after the first third of its dumps. C functions only.
  class Jeprof < Answer
    def classes = ""

    def rows
      @rows ||= collapsed.lines.map { |line| line.chomp.rpartition(" ") }.sort_by { |_, _, bytes| -bytes.to_i }.map { |stack, _, bytes| "#{bytes} #{stack}" }
    end

    private

    def collapsed
      dumps = Dir["#{@dir}/jeprof.*.heap"].sort_by { |path| path[/\.(\d+)\.\w+\.heap/, 1].to_i }
      run("perl", JEPROF, "--collapsed", "--show_bytes", "--base=#{dumps[dumps.size / 3]}", Bench::STOCK_RUBY, dumps.last)
    end
  end
end
