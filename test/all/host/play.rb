# frozen_string_literal: true

require "fileutils"
require "rbconfig"

# One run of the host in a folder of its own: with sampling and an asker, or without both.
class Play
  SETTINGS = ["output=none", "every=1", "every=1,interval=4k", "interval=auto,malloc=off,every=1", "standby", "every=1,diagnose=20%"].freeze
  # Longer than all that the acts wait for, of which the first that is lost ends most.
  LIMIT = 300
  EXPECTED = /\Aheap-sample: (?:wrote |cannot write |.*No space left|.*File too large)/

  attr_reader :lines, :complaints

  def initialize(ruby, seed, count, names, dir, sampled:)
    @ruby, @seed, @count, @names, @dir, @sampled = ruby, seed, count, names, dir, sampled
    @complaints = []
    @pids = []
  end

  def run
    FileUtils.rm_rf(@dir)
    %w[work asked profiles].each { |name| FileUtils.mkdir_p("#{@dir}/#{name}") }
    @database = IO.popen([CLEAN, RbConfig.ruby, "--disable=gems", "#{__dir__}/database.rb"])
    port = @database.gets.to_i
    begin
      asker if @sampled
      host(port)
    ensure
      @pids.each { |pid| end_group(pid) }
      end_daemons
      Process.kill(:TERM, @database.pid)
    end
    listen
    self
  end

  def forget = FileUtils.rm_rf(@dir)

  CLEAN = {"RUBYOPT" => nil, "RUBYLIB" => nil, "RUBY_HEAP_SAMPLE" => nil, "XDG_RUNTIME_DIR" => nil, "ASKED" => nil}.freeze
  private_constant :CLEAN

  private

  # A disk of 64 KiB for the profiles of every third seed, where one may mount.
  FULL = 'mount -t tmpfs -o size=64k none "$1" || exit 99; shift; exec "$@"'
  def full_disk = @seed % 3 == 0 && Process.euid.zero? ? ["unshare", "--mount", "sh", "-c", FULL, "sh", "#{@dir}/profiles"] : []

  def asker
    @pids << spawn({**CLEAN, "TMPDIR" => nil}, RbConfig.ruby, "--disable=gems", "#{__dir__}/asker.rb", @seed.to_s, "#{@dir}/asked",
                   pgroup: true, in: File::NULL, out: "#{@dir}/asked.out", err: %i[child out])
  end

  def host(port)
    settings = SETTINGS[@seed % SETTINGS.size]
    settings += ",output=#{@dir}/profiles/" unless settings.include?("output=")
    sampling = @sampled ? {"RUBY_HEAP_SAMPLE" => settings, "ASKED" => "#{@dir}/asked", "TMPDIR" => "#{@dir}/asked"} : {}
    pid = spawn({**CLEAN, **sampling}, *(full_disk if @sampled), @ruby, "--disable=gems", "-W0", "#{__dir__}/host.rb", @seed.to_s, @count.to_s, port.to_s, *@names,
                pgroup: true, chdir: "#{@dir}/work", in: File::NULL, out: "#{@dir}/stdout", err: "#{@dir}/stderr")
    @pids << pid
    ends = now + LIMIT
    sleep(0.05) until (done = Process.wait2(pid, Process::WNOHANG)) || now > ends
    return complain("the host did not end in #{LIMIT} s") unless done

    complain("the host was ended by #{done[1].inspect.sub(/pid \d+ /, "")}") unless done[1].success?
  end

  def listen
    @lines = File.readlines("#{@dir}/stdout", chomp: true)
    errors = File.readlines("#{@dir}/stderr", chomp: true).grep_v(EXPECTED)
    complain("stderr:", *errors.first(8)) unless errors.empty?
    told = @database.read.lines(chomp: true)
    complain(*told.first(3)) unless told.empty?
    @database.close
    complain(*File.readlines("#{@dir}/asked.out", chomp: true).first(3)) if @sampled && !File.empty?("#{@dir}/asked.out")
  end

  def end_group(pid)
    Process.kill(:KILL, -pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  # They have left the group, and end by themselves, unless they hang.
  def end_daemons
    Dir.glob("#{@dir}/asked/attach-*").map { |path| path[/\d+\z/].to_i }.each do |pid|
      Process.kill(:KILL, pid) if File.binread("/proc/#{pid}/environ").include?("ASKED=#{@dir}/")
    rescue SystemCallError
      nil
    end
  end

  def complain(*lines) = @complaints.concat(lines)

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
