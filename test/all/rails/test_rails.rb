# frozen_string_literal: true

# The sampler in a real Rails application under load: examples/rails, with its planted leak and without.
require "heapsample"
require "json"
require_relative "../../testing"
require_relative "../../gems"
require_relative "../../server"
require_relative "../../tracer"

class RailsTest < Test
  OUT = output_folder(__dir__)
  EXAMPLE = "#{TOP}/examples/rails".freeze
  PLANTED = ["app/models/ticket/cache.rb", "Ticket::Cache.store"].freeze
  GARBAGE = ["app/controllers/tickets_controller.rb", "TicketsController#seat_plan"].freeze
  # What an entry of the cache holds in addition: its key, which Rails makes of random bytes and the Hash copies.
  KEYS = %w[app/models/ticket/cache.rb random/formatter.rb].freeze
  NO_WRK = ("no wrk: tool/deps example" unless system("command -v wrk >&2", err: File::NULL))
  # What examples/rails/run has made there.
  ENVIRONMENT = {"BUNDLE_GEMFILE" => "Gemfile", "BUNDLE_PATH" => "bundle", "BUNDLE_APP_CONFIG" => "bundle/config", "SHOP_TMP" => "tmp",
                 "SHOP_DATABASE" => "tickets.sqlite3"}.transform_values { |name| "#{TOP}/build/examples/rails/#{name}" }.merge("RAILS_ENV" => "production").freeze

  # Two minutes stand for hours: at the default interval they have 180 samples of the planted line, hardly what it takes to call
  # a leak steady 19 times in 20. On a busy machine a quarter of one minute may have two major GCs, and three are needed.
  RUNS = {"short" => [5, {"SAMPLE" => "every=1,interval=16k"}], "planted" => [120, {"SAMPLE" => "every=2,interval=64k"}],
          "healthy" => [40, {"SAMPLE" => "every=2", "PLANT" => "0"}], "cluster" => [12, {"WORKERS" => "2"}]}.freeze
  SERVED = {}

  # What one run of the example printed, and its profiles.
  Served = Struct.new(:printed, :folder) do
    def files = Dir["#{folder}/heap-*.pb.gz"].sort
    def profiles = @profiles ||= files.map { |file| HeapSample::Profile.load(file) }
    def last = profiles.last
    def requests = Integer(printed[/(\d+) requests in /, 1])
  end

  %w[short planted healthy].each do |name|
    interval = {"short" => 16, "planted" => 64, "healthy" => 512}.fetch(name)
    test "#{name}: every request is answered, and every profile can be read", missing: NO_WRK do
      run = served(name)
      refute_match(/Non-2xx|Socket errors/, run.printed)
      assert_operator run.profiles.size, :>=, 4
      assert run.profiles.none? { |profile| profile.rows.empty? || profile.report.to_s.empty? }
      assert_equal interval * 1024, run.last.meta["settings"]["interval"]
    end
  end

  # 50 alternatives a request, each sampled with probability 1 - e^(-slot / interval). Beyond 6 deviations:
  # 1 in 500 million. A few requests more were under way when wrk stopped counting.
  %w[short planted].each do |name|
    test "#{name}: as many objects are estimated as the requests made", missing: NO_WRK do
      run = served(name)
      rows = run.last.rows.select { |row| row.class_name == "Ticket::Cache::Alternative" }
      truth = 50 * run.requests
      probability = 1 - Math.exp(-rows.first.slot_size / run.last.meta["settings"]["interval"].to_f)
      deviation = Math.sqrt(truth * (1 - probability) / probability)
      assert_in_delta truth, rows.sum { |row| row.alloc.objects }, 6 * deviation + 50 * 4
    end
  end

  test "short: the planted line grew, and that is significant", missing: NO_WRK do
    run = served("short")
    grew = (run.last - run.profiles.first).groups(:line).find { |group| planted?(group.key) }
    assert grew.significant?, "#{grew.space} is not significant"
  end

  test "the planted line grew most, which is significant", missing: NO_WRK do
    run = served("planted")
    grew = (run.profiles[-2] - run.profiles[1]).groups(:line).max_by(&:space)
    assert planted?(grew.key), "most grew #{grew.key}"
    assert grew.significant?, "#{grew.space} is not significant"
  end

  test "the planted line is first in what is in use", missing: NO_WRK do
    first = served("planted").last.groups(:line).largest(:inuse, 1).first
    assert planted?(first.key), "most is in use at #{first.key}: #{first.inuse.inspect}"
  end

  # Of objects: where few requests are served YJIT's compiler, which is malloc's, has allocated more.
  test "the garbage is the most allocated, and is freed or young", missing: NO_WRK do
    slots = served("planted").last.groups(:line, kind: :slots)
    most = slots.largest(:alloc, 1).first
    assert most.key.path.end_with?(GARBAGE[0]) && most.key.label == GARBAGE[1], "most is allocated at #{most.key}"
    # What requests under way at the mark held: a few of them, of 2,000 strings each.
    assert_operator most.inuse.space / slots.total.inuse.space, :<=, 0.1
    assert_operator (most.freed.space + most.young.space) / most.alloc.space, :>=, 0.98
  end

  test "the growth report ends with the planted line", missing: NO_WRK do
    line = File.readlines("#{EXAMPLE}/#{PLANTED[0]}").index { |text| text.include?("alternatives.map") } + 1
    assert_match(/The largest growth: .*ticket\/cache.rb:#{line} .Ticket::Cache.store/, served("planted").printed)
  end

  test "the diagnosis names the planted line as a leak, and nothing else but what it holds", missing: NO_WRK do
    diagnosis = HeapSample::Diagnosis.of(served("planted").folder)
    assert diagnosis.leak?, diagnosis.to_s
    named = diagnosis.findings.flat_map(&:lines).map(&:place)
    assert planted?(named.first), diagnosis.to_s
    assert named.all? { |place| place.path.end_with?(*KEYS) }, diagnosis.to_s
  end

  # The master forks two workers after it loaded the application.
  test "in a cluster each process writes its own profiles; both workers leak, and the master does not", missing: NO_WRK do
    by_process = served("cluster").files.group_by { |file| file[/heap-(\d+)-/, 1] }.values
    assert_equal 3, by_process.size
    # Of objects: on a slow machine each worker leaks 3 MiB, no more than its threads and the sampler have of malloc's.
    leaking = by_process.count do |files|
      HeapSample::Profile.load(files.last).groups(:line, kind: :slots).largest(:inuse, 3).any? { |group| planted?(group.key) }
    end
    assert_equal 2, leaking
  end

  test "without the plant its line is absent, and nothing is called a leak", missing: NO_WRK do
    run = served("healthy")
    refute run.profiles.any? { |profile| profile.groups(:line).any? { |group| planted?(group.key) } }
    diagnosis = HeapSample::Diagnosis.of(run.folder)
    refute diagnosis.leak?, diagnosis.to_s
  end

  test "the walk reaches what the dump of the whole application does, and what finalizers hold; block variables by name", missing: NO_WRK do
    served("cluster")
    note in_the_example(300, "--heap-sample=interval=1,max-samples=none,malloc=off,output=none", "#{__dir__}/reachable.rb", OUT)
  end

  test "bpftrace beside requests: allocations less frees are what the profile states as live", missing: NO_WRK || Tracer.trouble do
    served("cluster")
    note in_the_example(900, "#{__dir__}/traced.rb")
  end

  private

  # One run of the example, with its gems and its database.
  def served(name)
    SERVED[name] ||= begin
      seconds, env = RUNS.fetch(name)
      folder = "#{OUT}/#{name}"
      printed = assert_success({"PORT" => free_port.to_s, "PROFILES" => folder, **env}, "#{EXAMPLE}/run", RbConfig.ruby, seconds)
      Served.new(printed, folder)
    end
  end

  def planted?(key) = key && key.path.end_with?(PLANTED[0]) && key.label == PLANTED[1]

  def in_the_example(seconds, *arguments)
    assert_success(ENVIRONMENT, "timeout", seconds, RbConfig.ruby, "-I#{TOP}/src/lib", "-rbundler/setup", *arguments, chdir: EXAMPLE)
  end
end
