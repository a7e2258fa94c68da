# The results of `benchmark/run real`: a line of JSON a run, and tables made of them.
require "json"
require_relative "programs"

module Real
  class Results
    FIGURES = %w[cpu memory gc pages].freeze
    DRAWS = 4000

    def initialize(file)
      @file = file
      @lines = File.exist?(file) ? File.readlines(file).map { |line| JSON.parse(line) } : []
    end

    def done?(*where) = @lines.any? { |line| line["of"] == key(*where) }

    def add(program, configuration, round, amount, figures)
      load = File.read("/proc/loadavg").to_f
      line = { "of" => key(program, configuration, round, amount), "at" => Time.now.utc.to_s, "load" => load, "figures" => figures }
      File.write(@file, "#{JSON.generate(line)}\n", mode: "a")
      @lines << line
    end

    # Configuration name => round => figures.
    def of(program, amount)
      CONFIGURATIONS.to_h do |configuration|
        about = key(program, configuration, nil, amount).except("round")
        found = @lines.select { |line| line["of"].except("round") == about }
        [configuration.name, found.to_h { |line| [line["of"]["round"], line["figures"]] }]
      end.reject { |_, rounds| rounds.empty? }
    end

    private

    def key(program, configuration, round, amount)
      { "program" => program.name, "version" => program.version, "amount" => amount,
        "configuration" => configuration.name, "build" => configuration.build, "round" => round }
    end
  end

  # The median of the ratios round by round, and its 95% interval by the bootstrap (of five rounds it is the whole range).
  class Ratio
    ENOUGH = 5 # rounds, to say anything

    attr_reader :median, :low, :high

    def self.of(rounds, base, figure)
      common = rounds.keys & base.keys
      ratios = common.filter_map { |n| rounds[n][figure].fdiv(base[n][figure]) if base[n][figure].to_f.positive? }
      new(ratios) unless ratios.empty?
    end

    def initialize(ratios)
      random = Random.new(1)
      drawn = Array.new(Results::DRAWS) { Bench.median(Array.new(ratios.size) { ratios.sample(random:) }) }.sort
      @median = Bench.median(ratios)
      @low = drawn[(drawn.size * 0.025).floor]
      @high = drawn[(drawn.size * 0.975).ceil - 1]
      @count = ratios.size
    end

    def enough? = @count >= ENOUGH
    def within?(width) = low >= 1 - width && high <= 1 + width

    # How many rounds would make the interval that narrow, at this spread.
    def rounds_for(width) = [(@count * ([high - 1, 1 - low].max / width)**2).ceil, 6].max

    def range = format("%.3f..%.3f", low, high)
    def to_s = format("%.3f", median)
  end

  # What is printed of one program.
  class Sheet
    MIB = 1024.0 * 1024

    def initialize(program, results)
      @program = program
      @results = results
    end

    def print
      puts "#{@program.name}, #{@results.values.map(&:size).minmax.uniq.join(" to ")} rounds", ""
      Bench.table ["", @program.cpu_label, "to stock", "to off", "95%", @program.memory_label, "to stock", "to off", "95%"],
        rows { |name| [*compared(name, "cpu", @program.cpu_format), *compared(name, "memory", "%.1f", MIB)] }
      Bench.table ["", "GCs", "minor", "major", "to off", "95%", "heap pages", "to off", "95%", "own, KiB"],
        rows { |name| collections(name) }
      puts control, targets, booted, ""
    end

    private

    def rows = @results.keys.map { |name| [name, *yield(name)] }
    def median(name, figure) = @results[name] && Bench.median(@results[name].values.map { |figures| figures[figure] })

    def ratio(name, base, figure)
      Ratio.of(@results[name], @results[base], figure) if @results[name] && @results[base] && name != base
    end

    def compared(name, figure, format, unit = 1)
      off = ratio(name, "off", figure)
      [format(format, median(name, figure) / unit), ratio(name, "stock", figure), off, off&.range]
    end

    def collections(name)
      gc = ratio(name, "off", "gc")
      pages = ratio(name, "off", "pages")
      [*%w[gc minor major].map { |figure| median(name, figure).round }, gc, gc&.range, median(name, "pages").round, pages,
       pages&.range, (median(name, "own") / 1024).round]
    end

    def control
      control = ratio("stock2", "stock", "cpu") or return "#{@program.name}: no control (stock and stock2 were not both run)."
      verdict =
        if !control.enough? then "too few rounds to say what it resolves"
        elsif control.within?(0.01) then "it resolves 1%"
        else "it does not resolve 1%; about #{control.rounds_for(0.01)} rounds would"
        end
      "#{@program.name}: CPU time of stock2 to stock is #{control} (#{control.range}): #{verdict}."
    end

    # What the default settings may cost.
    def targets
      cpu = ratio("both", "off", "cpu") or return []
      allowed = median("off", "memory") * 1.02 + 3 * MIB
      over = (median("both", "memory") - allowed) / MIB
      ["#{@program.name}: CPU time of both to off is #{cpu} (#{cpu.range}); wanted is 1.01 at most: #{settled(cpu)}.",
       "#{@program.name}: #{@program.memory_label.sub(", MiB", "")} of both is #{format("%.1f MiB %s", over.abs, over.positive? ? "over" : "below")} " \
       "what is wanted (1.02 of off and 3 MiB)."]
    end

    # A server's worker before its first request.
    def booted
      @results.filter_map do |name, rounds|
        bytes = rounds.values.filter_map { |figures| figures["own_booted"] }
        next if bytes.sum.zero?
        "#{@program.name}: own memory of a booted worker, #{name}: #{(Bench.median(bytes) / 1024).round} KiB."
      end
    end

    def settled(cpu)
      return "too few rounds" unless cpu.enough?
      return "met" if cpu.high <= 1.01
      cpu.low > 1.01 ? "missed" : "not settled by these rounds"
    end
  end
end
