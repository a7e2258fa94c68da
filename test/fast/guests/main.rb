# frozen_string_literal: true

# Runs each program without sampling and with it, at the same time: both must report the same, which must be right. TAP.
# Usage: ruby -rbundler/setup main.rb FOLDER [CASE…]

require "fileutils"
require_relative "../../server"
require_relative "client"

OUT = ARGV.shift
HERE = __dir__
SECONDS = 120
# A path of a socket has 107 bytes at most.
SHORT = Dir.mktmpdir("guests", "/tmp")
DATABASE = TCPServer.new("127.0.0.1", 0)

# The database, in a process of its own: it must not share this one's descriptors or its pauses.
database = fork do
  loop do
    Thread.new(DATABASE.accept) do |client|
      client.each_line { |line| client.write("row for #{line}") }
    rescue SystemCallError
      nil
    end
  end
end
at_exit do
  next unless Process.pid == MAIN

  Process.kill(:KILL, database)
  FileUtils.rm_rf(SHORT)
end
MAIN = Process.pid
PORT = DATABASE.addr[1]
DATABASE.close

# A daemon has ended although its state is Z, where no parent waits for it.
def ended?(pid) = File.read("/proc/#{pid}/stat")[/\) (.)/, 1] == "Z" rescue true

# One run of a program: its folder, its environment, and the processes that it left.
class Run
  attr_reader :folder, :client, :env

  def initialize(name, sampled)
    @sampled = sampled
    @folder = "#{OUT}/#{name}-#{sampled ? "sampled" : "plain"}"
    FileUtils.rm_rf(@folder)
    FileUtils.mkdir_p("#{@folder}/profiles")
    sockets = "#{SHORT}/#{name}"
    FileUtils.mkdir_p(sockets, mode: 0o700)
    @client = Client.new(sockets) if sampled
    @env = {"GUEST_FOLDER" => @folder, "GUEST_DATABASE" => PORT.to_s, "TMPDIR" => sockets,
            "RUBY_HEAP_SAMPLE" => sampled ? "interval=16k,every=1,quiet,output=#{@folder}/profiles/" : nil}
    @pids = []
  end

  # Starts a program, which may become a daemon.
  def start(*command, env: {})
    @child = Process.detach(spawn({**@env, **env}, *command, in: "/dev/null", %i[out err] => ["#{@folder}/output", "a"]))
  end

  def ruby(program) = start(RbConfig.ruby, "#{HERE}/#{program}")

  # Waits until the program says that it has finished; meanwhile lets it wait until its control socket has answered.
  def finish
    waits_for(SECONDS) do
      Dir.glob("#{@folder}/ask-*").each { |path| answered(path) unless path.end_with?(".new") }
      File.exist?("#{@folder}/finished")
    end
  end

  # Waits until each of these processes has answered a few more requests; without sampling there is nothing to ask.
  def asked(*pids)
    @pids.concat(pids)
    return unless @sampled

    before = pids.to_h { |pid| [pid, @client.answers[pid]] }
    waits_for(SECONDS) { pids.all? { |pid| @client.answers[pid] > before[pid] + 3 } }
  end

  # A file may be gone in between.
  def read(name)
    File.read("#{@folder}/#{name}")
  rescue Errno::ENOENT
    "(no #{name})"
  end

  def report = (read("report") + read("output")).gsub(@folder, "FOLDER")

  def stop
    @client&.stop
    pids = @pids + Dir.glob("#{@folder}/*.pid").map { |file| File.read(file).to_i }
    pids << @child.pid if @child&.alive?
    pids.uniq.each { |pid| Process.kill(:KILL, pid) if left?(pid) }
  end

  # The newest can be loaded.
  def profiles
    files = Dir.glob("#{@folder}/profiles/*.pb.gz")
    assert files.any?, "no profile"
    files.last(3).each { |file| assert GC::SampleProfile.load(file).rows.any?, "#{file} is empty" }
  end

  private

  # A number may have gone to another program since.
  def left?(pid) = pid.positive? && !ended?(pid) && File.readlink("/proc/#{pid}/exe") == File.readlink("/proc/self/exe") rescue false

  def answered(path)
    done = path.sub("/ask-", "/asked-")
    return if File.exist?(done)

    asked(File.read(path).to_i)
    File.write(done, "")
  end
end

# Yields both runs, each in a thread. The two texts that the block returns must be the same, and match each of +right+.
def both(name, right)
  runs = [false, true].map { |sampled| Run.new(name, sampled) }
  plain = sampled = nil
  test("#{name}: runs to its end with sampling and without") do
    threads = runs.map { |run| Thread.new { yield run }.tap { |thread| thread.report_on_exception = false } }
    plain, sampled = threads.map(&:value)
  end
  return unless sampled

  test("#{name}: every line is right without sampling") { right.each { |line| assert plain.match?(line), "#{line.inspect} is not in\n#{plain}" } }
  test("#{name}: reports the same with sampling") do
    assert plain == sampled, "only without sampling:\n#{(plain.lines - sampled.lines).join}only with it:\n#{(sampled.lines - plain.lines).join}"
  end
  test("#{name}: every request to a control socket is answered without an error") { equal [], runs.last.client.wrong }
  test("#{name}: its profiles are readable") { runs.last.profiles }
  puts "# #{name}: answers by process: #{runs.last.client.answers.values}"
ensure
  runs&.each(&:stop)
end

Dir.glob("#{HERE}/case_*.rb").sort.each do |path|
  load path if ARGV.empty? || ARGV.include?(File.basename(path)[/case_(.*)\.rb/, 1])
end
Tap.finish
