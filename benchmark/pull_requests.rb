# frozen_string_literal: true

# False alarms and found changes of `heapsample compare`: of a thousand comparisons of a suite with itself, how many name
# anything; and of a thousand with +2% of the objects or +5% of the retained bytes planted on one line, how many find it. The suite is a
# part of kramdown's, of RubyGems. It runs 200 times with this Ruby and with the stock one, and 10 times with each change.
# The comparisons draw from these runs: five on each side; the first does not count.
#
#   benchmark/run pull_requests                     # about half an hour of processor time
#   benchmark/run pull_requests -- --table          # judges what was recorded in build/bench/pull_requests; --table stock
#   benchmark/run pull_requests -- --record ours:base-01,stock:retained      # some of the recordings alone
require_relative "support"
require "heapsample"

module PullRequests
  OUT = File.join(Bench::OUT, "pull_requests")
  GEM = "kramdown-2.4.0"
  SUITE = %w[test/test_files.rb -n /_list|_link|_paragraph/].freeze
  RUBIES = { "ours" => Bench::RUBY, "stock" => Bench::STOCK_RUBY }.freeze
  # Recordings: the base is recorded in pieces, each with a first run more, which does not count.
  BASE = Array.new(20) { |piece| format("base-%02d", piece + 1) }.freeze
  PIECES = { **BASE.to_h { |piece| [piece, 10] }, "allocated" => 10, "retained" => 10 }.freeze
  DRAWS = 1000
  RUNS = 4 # of five
  # What is planted: 2% of the objects that the suite allocates, and strings of 1,000 bytes for 5% of what it retains.
  ADDED = { "allocated" => 0.02, "retained" => 0.05 }.freeze

  # The gems that come with Ruby.
  GEMS = { "GEM_HOME" => nil, "GEM_PATH" => nil }.freeze

  module_function

  def all = RUBIES.keys.flat_map { |name| PIECES.keys.map { |piece| "#{name}:#{piece}" } }

  def suite
    folder = File.join(OUT, "gems/gems", GEM)
    return folder if File.directory?(folder)

    FileUtils.mkdir_p(OUT)
    name, _, version = GEM.rpartition("-")
    Bench.run(RbConfig.ruby, "-S", "gem", "install", name, "-v", version, "--install-dir", "gems", "--ignore-dependencies", "--no-document", dir: OUT, env: GEMS)
    folder
  end

  def folder(ruby, piece) = File.join(OUT, ruby, piece)

  def record(ruby, piece)
    target = folder(ruby, piece)
    return if HeapSample::RunFolder.names(target).size > PIECES.fetch(piece)

    FileUtils.rm_rf(target)
    command = [RUBIES.fetch(ruby), "-Ilib", *(Bench.here("pull_requests/plant.rb") if ADDED.key?(piece)), *SUITE]
    env = { **GEMS, "PLANT" => planted(ruby, piece) }
    Bench.run(RbConfig.ruby, "-I", "#{Bench::TOP}/src/lib", "#{Bench::TOP}/src/libexec/heapsample", "compare", target, "--runs", (PIECES.fetch(piece) + 1).to_s, "--",
              *command, dir: suite, env: env)
  end

  def planted(ruby, piece)
    return unless ADDED.key?(piece)

    base = HeapSample::RunFolder.new(folder(ruby, BASE.first))
    figure = base.values(piece.to_sym).sum / base.size.to_f * ADDED.fetch(piece)
    "#{piece},#{(piece == "allocated" ? figure : figure / 1040).round}"
  end

  def runs(ruby, piece) = HeapSample::RunFolder.new(folder(ruby, piece))

  # A side: RUNS runs that are drawn, or two sides without a run in both.
  def sides(random, base, head)
    return base.sample(2 * RUNS, random: random).each_slice(RUNS).to_a if base.equal?(head)

    [base.sample(RUNS, random: random), head.sample(RUNS, random: random)]
  end

  def draws(base, head, &found)
    random = Random.new(1)
    DRAWS.times.count do
      one, other = sides(random, base, head).map { |runs| HeapSample::RunFolder.new("drawn", runs: runs) }
      found.call(HeapSample::Comparison.new(one, other))
    end
  end

  # On our Ruby the line must be named first, too.
  def found?(comparison, figure, ruby)
    return false unless comparison.totals.find { |row| row.figure == figure }.higher?
    return true if ruby == "stock"

    comparison.culprits(figure == :allocated ? :allocated_bytes : figure, :line).first&.key.to_s.include?("plant.rb")
  end

  def table
    (ARGV[1] || RUBIES.keys.join(",")).split(",").each do |ruby|
      base = BASE.flat_map { |piece| runs(ruby, piece).runs }
      puts "#{ruby}: #{base.size} runs of the suite; #{RUNS + 1} runs on each side, the first left out"
      puts "  compared with itself:  #{draws(base, base) { |comparison| comparison.changed.any? }} alarms in #{DRAWS}"
      ADDED.each do |figure, share|
        head = runs(ruby, figure).runs
        found = draws(base, head) { |comparison| found?(comparison, figure.to_sym, ruby) }
        puts "  +#{(share * 100).round}% #{figure}, on one line:  found in #{found} of #{DRAWS}#{", with the line" if ruby == "ours"}"
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  names = ARGV.first == "--record" ? ARGV[1].split(",") : ARGV.first == "--table" ? [] : PullRequests.all
  names.each { |name| PullRequests.record(*name.split(":")) }
  PullRequests.table unless ARGV.first == "--record"
end
