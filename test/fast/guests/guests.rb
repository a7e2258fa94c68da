# frozen_string_literal: true

# Runs each program without sampling and with it, at the same time: both must report the same, which must be right.

require_relative "../../testing"
require_relative "../../gems"
GUESTS_OUT = install_gems(__dir__)

require "heapsample"
require_relative "../../server"
require_relative "client"

# A daemon has ended although its state is Z, where no parent waits for it.
def ended?(pid) = File.read("/proc/#{pid}/stat")[/\) (.)/, 1] == "Z" rescue true

# One run of a program: its folder, its environment, and the processes that it left.
class Run
  # A path of a socket has 107 bytes at most.
  def self.short
    @short ||= Dir.mktmpdir("guests", "/tmp").tap { |folder| Minitest.after_run { FileUtils.rm_rf(folder) } }
  end

  # The port of the database, which is a process of its own: it must not share this one's descriptors or its pauses.
  def self.database
    @database ||= TCPServer.open("127.0.0.1", 0) do |server|
      pid = fork { loop { Thread.new(server.accept) { |client| answer(client) } } }
      Minitest.after_run { Process.kill(:KILL, pid) }
      server.addr[1]
    end
  end

  def self.answer(client)
    client.each_line { |line| client.write("row for #{line}") }
  rescue SystemCallError
    nil
  end

  attr_reader :folder, :client, :env

  def initialize(name, sampled)
    @sampled = sampled
    @folder = "#{GUESTS_OUT}/#{name}-#{sampled ? "sampled" : "plain"}"
    FileUtils.rm_rf(@folder)
    FileUtils.mkdir_p("#{@folder}/profiles")
    sockets = "#{Run.short}/#{name}"
    FileUtils.mkdir_p(sockets, mode: 0o700)
    @client = Client.new(sockets) if sampled
    @env = {"GUEST_FOLDER" => @folder, "RUBYOPT" => "-rbundler/setup", "GUEST_DATABASE" => Run.database.to_s, "TMPDIR" => sockets,
            "RUBY_HEAP_SAMPLE" => sampled ? "interval=16k,every=1,quiet,output=#{@folder}/profiles/" : nil}
    @pids = []
  end

  # Starts a program, which may become a daemon.
  def start(*command, env: {})
    @child = Process.detach(spawn({**@env, **env}, *command, in: "/dev/null", %i[out err] => ["#{@folder}/output", "a"]))
  end

  def ruby(program) = start(RbConfig.ruby, "#{__dir__}/#{program}")

  # Waits until the program says that it has finished; meanwhile lets it wait until its control socket has answered.
  def finish
    waits_for(GuestTest::SECONDS) do
      Dir.glob("#{@folder}/ask-*").each { |path| answered(path) unless path.end_with?(".new") }
      File.exist?("#{@folder}/finished")
    end
  end

  # Waits until each of these processes has answered a few more requests; without sampling there is nothing to ask.
  def asked(*pids)
    @pids.concat(pids)
    return unless @sampled

    before = pids.to_h { |pid| [pid, @client.answers[pid]] }
    waits_for(GuestTest::SECONDS) { pids.all? { |pid| @client.answers[pid] > before[pid] + 3 } }
  end

  # A file may be gone in between.
  def read(name)
    File.read("#{@folder}/#{name}")
  rescue Errno::ENOENT
    "(no #{name})"
  end

  def report = (read("report") + read("output")).gsub(@folder, "FOLDER").gsub(@folder.gsub(/\d+/, ""), "FOLDER")

  def stop
    @client&.stop
    pids = @pids + Dir.glob("#{@folder}/*.pid").map { |file| File.read(file).to_i }
    pids << @child.pid if @child&.alive?
    pids.uniq.each { |pid| Process.kill(:KILL, pid) if left?(pid) }
  end

  # The newest.
  def profiles = Dir.glob("#{@folder}/profiles/*.pb.gz").last(3).map { |file| GC::SampleProfile.load(file) }

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

class GuestTest < Test
  SECONDS = 120

  # Yields both runs of a program, each in a thread. The two texts that the block returns must be the same, and match each of
  # +right+.
  def assert_same(name, *right)
    runs = [false, true].map { |sampled| Run.new(name, sampled) }
    threads = runs.map { |run| Thread.new { yield run }.tap { |thread| thread.report_on_exception = false } }
    plain, sampled = threads.map(&:value)
    right.each { |line| assert_match line, plain }
    assert_equal plain, sampled
    assert_empty runs.last.client.wrong, "answers of a control socket"
    profiles = runs.last.profiles
    assert(profiles.any? && profiles.all? { |profile| profile.rows.any? }, "no profiles, or empty ones")
    note "answers by process: #{runs.last.client.answers.values}"
  ensure
    runs&.each(&:stop)
  end
end
