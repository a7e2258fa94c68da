# frozen_string_literal: true

require_relative "../../fast/agent/serving"

# A receiver that speaks Pyroscope's push.v1, and what it has accepted. While it is +failing+ it accepts nothing: it closes the
# connection, waits, or answers with an error or with garbage.
class Receiver
  FAILURES = [:close, :wait, "500 Internal Server Error", "429 Too Many Requests", "503 Service Unavailable", :garbage].freeze

  attr_reader :port, :failures
  attr_accessor :failing

  def initialize(random)
    @random, @lock, @sums, @ids, @failures = random, Mutex.new, Hash.new { |sums, worker| sums[worker] = [0, 0] }, Hash.new(0), 0
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    Thread.new { loop { Thread.new(@server.accept) { |socket| serve(socket) } } }
  end

  # Objects and bytes that were allocated, by the label "worker".
  def sums = @lock.synchronize { @sums.dup }
  def repeated = @lock.synchronize { @ids.count { |_, times| times > 1 } }

  private

  def serve(socket)
    length = 0
    until (line = socket.gets.to_s.chomp).empty?
      length = line[/\d+/].to_i if line.downcase.start_with?("content-length:")
    end
    body = socket.read(length)
    failing ? fail(socket) : accept(socket, JSON.parse(body))
  rescue SystemCallError, IOError
    nil
  ensure
    socket.close
  end

  def fail(socket)
    failure = @lock.synchronize { (@failures += 1) && FAILURES.sample(random: @random) }
    case failure
    when :wait then sleep 5
    when :garbage then socket.write("\x00garbage\r\n\r\n" * 100)
    when String then socket.write("HTTP/1.1 #{failure}\r\nContent-Length: 2\r\nRetry-After: 1\r\n\r\n{}")
    end
  end

  def accept(socket, sent)
    sent.fetch("series").each do |series|
      worker = series.fetch("labels").find { |label| label["name"] == "worker" }&.fetch("value")
      series.fetch("samples").each { |sample| add(worker, sample.fetch("ID"), sample.fetch("rawProfile").unpack1("m0")) }
    end
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
  end

  def add(worker, id, bytes)
    sums = Allocated.of(bytes)
    @lock.synchronize do
      @ids[id] += 1
      @sums[worker] = @sums[worker].zip(sums).map(&:sum)
    end
  end
end

# Objects and bytes that were allocated, by a profile.
module Allocated
  def self.of(bytes)
    profile = HeapSample::Profile.load(StringIO.new(bytes), name: "it")
    [HeapSample::Columns::ALLOC_OBJECTS, HeapSample::Columns::ALLOC_SPACE].map { |column| profile.table.sum { |row| row[column] }.round }
  end
end

# A worker: its number, which is the label of all that it allocates, and its process.
Worker = Struct.new(:number, :io) do
  def pid = io.pid
  def say(text) = io.puts(text)
  def rss = File.read("/proc/#{pid}/statm").split[1].to_i * 4096
end

class ChaosTest < AgentTest
  SECONDS = Integer(ENV.fetch("CHAOS_SECONDS", "1800"))
  RANDOM = Random.new(Integer(ENV.fetch("CHAOS_SEED", "1")))
  WORKERS = 16
  # Seconds from profile to profile, and what a request and the watch's own look may add on a busy machine.
  INTERVAL, LATE = 15, 4
  SETTINGS = "interval=64k,malloc=off,output=none"

  # A forked child has a number of its own. It writes nothing, so that it ends as the driver expects.
  WORK = <<~'RUBY'
    require "rbconfig"
    def title(number) = $0 = "puma: cluster worker #{number}: 1 [chaos]"
    def work(number)
      title(number)
      $kept = []
      while (order, argument = gets&.split)
        case order
        when "leak" then $kept.concat(Array.new(argument.to_i) { |i| "retained #{i}" })
        when "churn" then argument.to_i.times { |i| "garbage #{i}" }
        when "fork" then fork { title(argument); kept = Array.new(50_000) { Object.new }; sleep 40; kept.clear; exit!(0) }.then { |pid| Process.detach(pid) }
        when "exec" then exec({"NUMBER" => argument}, RbConfig.ruby, "-W0", "--disable=gems", "-e", ENV["WORK"])
        when "exit" then exit
        end
      end
    end
    $stdout.sync = true
    work(ENV["NUMBER"])
  RUBY

  def start_worker
    @number += 1
    env = {"RUBY_HEAP_SAMPLE" => SETTINGS, "WORK" => WORK, "NUMBER" => @number.to_s}
    Worker.new(@number, IO.popen([env, RbConfig.ruby, "-W0", "--disable=gems", "-e", WORK, {err: File::NULL}], "r+"))
  end

  # Something happens to one worker.
  def act(workers)
    at = RANDOM.rand(workers.size)
    worker = workers[at]
    case RANDOM.rand
    when 0...0.55 then worker.say("leak #{RANDOM.rand(2_000..60_000)}")
    when 0.55...0.8 then worker.say("churn #{RANDOM.rand(1_000..200_000)}")
    when 0.8...0.85 then worker.say("fork #{@number += 1}")
    when 0.85...0.9 then worker.say("exec #{worker.number = @number += 1}")
    when 0.9...0.93 then worker.say("exit")
    else kill(worker)
    end
    replace(workers, at) unless alive?(worker)
  rescue Errno::EPIPE
    replace(workers, at)         # it was about to exit
  end

  def replace(workers, at)
    reap(workers[at])
    workers[at] = start_worker
  end

  # A worker that is younger than a profile takes has none.
  def kill(worker)
    @killed << [worker.pid, Time.now, worker.rss]
    Process.kill(:KILL, worker.pid)
    sleep 0.1
  end

  def alive?(worker) = !%w[Z X].include?(File.read("/proc/#{worker.pid}/stat")[/\) (\w)/, 1])

  def reap(worker)
    worker.io.close
  rescue Errno::EPIPE
    nil
  end

  # Seconds of CPU, and bytes of RSS.
  def cost(pid) = [File.read("/proc/#{pid}/stat")[/.*\) (.*)/, 1].split.values_at(11, 12).sum(&:to_i) / 100.0, File.read("/proc/#{pid}/statm").split[1].to_i * 4096]

  test "sums are right, last profiles are recent, and memory is flat" do
    @number, @killed = 0, []
    keep = "#{FOLDER}/kept"
    good, bad = Array.new(2) { Receiver.new(RANDOM) }
    to = [good, bad].flat_map { |receiver| ["--to", "pyroscope+http://127.0.0.1:#{receiver.port}"] }
    chaos_agent("--keep", keep, "--keep-size", "500m", *to) do |it|
      workers = Array.new(WORKERS) { start_worker }
      began, costs = Time.now, []
      until Time.now - began > SECONDS
        bad.failing = (Time.now - began).to_i / 97 % 2 == 1
        act(workers)
        sleep RANDOM.rand(0.0..1.2)
        costs << cost(it.process.pid)
        remember(keep) if costs.size % 20 == 0
      end
      bad.failing = false
      workers.each { |worker| reap(worker) }         # its input ends
      sleep 150         # children end, the last profiles are sent, and receivers that failed are tried again
      remember(keep)
      puts it.get("/metrics").body.lines.grep(/sent_total/).map { |line| "# #{line}" }
      judge(keep, good, bad, costs, Time.now - began, it.process.pid)
    end
  end

  def chaos_agent(*options)
    started({}, RbConfig.ruby, "-rbundler/setup", EXE, "agent", "--http", unused_address, *options, err: "#{FOLDER}/agent.err") { |process| yield Agent.new(process) }
  end

  def all = "#{FOLDER}/all"

  # The store thins older profiles of a process, also the last one of a program that went on with exec(2).
  def remember(keep)
    Dir.glob("*/{heap,died}-*.pb.gz", base: keep).each do |path|
      FileUtils.mkdir_p(File.dirname("#{all}/#{path}"))
      File.link("#{keep}/#{path}", "#{all}/#{path}") unless File.exist?("#{all}/#{path}")
    rescue Errno::ENOENT
      nil
    end
  end

  def judge(keep, good, bad, costs, seconds, pid)
    kept = Dir["#{all}/*/{heap,died}-*.pb.gz"].sort_by { |path| path[/\d{8}T[\d.]+/] }
    last = kept.to_h { |path| [number_of(path), path] }.except(nil)
    # A program is asked before it has set its title, too: what it had allocated by then has no number.
    untitled = kept.to_h { |path| [[File.dirname(path), info(path).started], path] }.values.reject { |path| number_of(path) }
    short = last.to_h { |number, path| [number, Allocated.of(File.binread(path)).zip(good.sums[number]).map { |most, sum| most - sum }] }
    short.select! { |number, (objects, _)| objects > 100 && !forked?(last[number]) }
    unnumbered = [*short.values, *untitled.map { |path| Allocated.of(File.binread(path)) }].transpose.map(&:sum)
    wrong = last.except(*short.keys).reject { |number, path| right?(path, good.sums[number]) }
    thirds = costs.map(&:last).each_slice((costs.size / 3.0).ceil).map { |part| part.max >> 20 }
    puts "# #{last.size} processes, #{@killed.size} killed; RSS of the agent by thirds #{thirds} MiB, CPU #{(100 * cost(pid).first / seconds).round(2)}%, #{bad.failures} failures"
    puts File.readlines("#{FOLDER}/agent.err").grep_v(/ended unexpectedly/).first(20).map { |line| "# #{line}" }
    late = ages(keep)
    assert_operator last.size, :>=, WORKERS
    puts "# allocated before the title was set, by the files and as sent: #{unnumbered}, #{good.sums[nil]}; #{short.size} processes"
    assert_in_delta unnumbered[0] || 0, good.sums[nil][0], 100 * last.size
    assert_empty wrong.map { |number, path| [number, path, Allocated.of(File.binread(path)), good.sums[number]] }
    assert_equal good.sums, bad.sums
    assert_equal [0, 0], [good.repeated, bad.repeated]
    assert_operator bad.failures, :>, 0
    assert_empty late
    assert_operator thirds.last, :<=, thirds.first * 1.25
    assert_empty File.readlines("#{FOLDER}/agent.err").grep(/internal error/)
  end

  # The Meta of a file.
  def info(path) = (@infos ||= {})[path] ||= HeapSample::Meta.new(HeapSample::PprofReader.read_head(File.binread(path, HeapSample::PprofReader::HEAD_MOST), name: path))
  def number_of(path) = info(path).title.to_s[/worker (\d+)/, 1]

  # A forked child begins with what its parent had: its first profile is where it begins, so its sum is smaller.
  def right?(path, sums)
    all = Allocated.of(File.binread(path))
    all.zip(sums).all? { |most, sum| (most - sum).abs <= 100 } || (forked?(path) && sums.zip(all).all? { |sum, most| sum <= most })
  end

  def forked?(path) = info(path).parent_id != Process.pid

  # How old the last profile of each killed process is: those that are too old.
  def ages(keep)
    ages = @killed.filter_map do |pid, at, rss|
      path = Dir["#{keep}/#{pid}-*/died-*.pb.gz"].max or next
      info = info(path)
      [at - info.taken, rss / [info.account&.rss.to_i, 1].max.to_f]
    end
    late, other = ages.partition { |age,| age > INTERVAL + LATE }
    # A process that grew is asked sooner, as far as its CPU time for answers allows.
    grew = other.select { |age, growth| growth > 1.06 && age > LATE }
    puts "# #{ages.size} last profiles, up to #{ages.map(&:first).max&.round(1)} s old; after growth: #{grew.map { |age, growth| [age.round(1), growth.round(2)] }}"
    assert_operator grew.size, :<=, ages.size / 10
    assert_operator ages.size, :>=, @killed.size / 2
    late
  end
end
