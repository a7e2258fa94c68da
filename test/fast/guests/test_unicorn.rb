# frozen_string_literal: true

require_relative "guests"

# SIGUSR2 starts a new master, which inherits the listener; SIGQUIT ends the old one. Requests are answered all the time.
class NewMaster
  BIN = IO.popen([RbConfig.ruby, "-rbundler/setup", "-e", 'print Gem.bin_path("unicorn", "unicorn")'], &:read)

  def initialize(run)
    @run = run
    @port = free_port
    # The old master starts the new one by this name. The gem's own script would take the Ruby of the PATH.
    @program = "#{run.folder}/unicorn"
    File.write(@program, "#!/bin/sh\nexec '#{RbConfig.ruby}' '#{BIN}' \"$@\"\n")
    File.chmod(0o755, @program)
  end

  def call
    @run.start(@program, "-c", "#{__dir__}/unicorn_config.rb", "#{__dir__}/unicorn.ru", env: {"GUEST_PORT" => @port.to_s, "GUEST_UNICORN" => @program})
    old = master
    first = workers_of(old)
    @requests = Thread.new { ask_until_stopped }
    before = [descriptors(old), *first.map { |pid| kinds(pid) }]
    Process.kill(:USR2, old)
    new = waits_for(GuestTest::SECONDS) { (pid = master) != old && pid }
    second = workers_of(new)
    Process.kill(:QUIT, old)
    waits_for(GuestTest::SECONDS) { [old, *first].all? { |pid| ended?(pid) } }
    @run.asked(new, *second)
    after = [descriptors(new), *second.map { |pid| kinds(pid) }]
    Process.kill(:QUIT, new)
    [*lines("old", before), *lines("new", after), "unanswered: #{stopped.tally}"].join("\n")
  end

  private

  def lines(which, all) = ["#{which} master: #{all[0]}", *all.drop(1).map { |kind| "#{which} worker: #{kind}" }]

  def master = waits_for(GuestTest::SECONDS) { Integer(@run.read("unicorn.pid"), exception: false) }

  # Each worker writes a file, in after_fork of unicorn_config.rb.
  def workers_of(master)
    pids = waits_for(GuestTest::SECONDS) { (files = Dir.glob("#{@run.folder}/worker-#{master}-*")).size == 2 && files.map { |file| File.read(file).to_i }.tap { |all| break if all.include?(0) } }
    @run.asked(master, *pids)
    pids
  end

  # Of a worker: it may have a request just now, and GC closes the pipes that it has from its master.
  def kinds(pid) = descriptors(pid).gsub(/\d+ (pipe)/, '\1').sub(/, \d+ socket/, "")

  # How many descriptors there are of each kind.
  def descriptors(pid)
    listeners = File.readlines("/proc/#{pid}/net/tcp").filter_map { |line| line.split[9] if line.split[3] == "0A" }
    Dir.children("/proc/#{pid}/fd").map(&:to_i).sort.filter_map do |number|
      kind = File.readlink("/proc/#{pid}/fd/#{number}").sub(/\Asocket:\[(\d+)\]/) { listeners.include?($1) ? "listener" : "socket" }
      File.basename(kind.sub(/:\[\d+\]/, "").delete("[]"))
    rescue SystemCallError
      nil
    end.tally.sort.map { |kind, count| "#{count} #{kind}" }.join(", ")
  end

  # The answers that are not right.
  def ask_until_stopped
    wrong = []
    number = 0
    until @stopped
      number += 1
      got = request("/#{number}")
      wrong << got.inspect unless got.match?(%r{\AHTTP/1.1 200 .*^/#{number} by \d+\z}m)
      sleep 0.005
    end
    wrong << "only #{number} requests" if number < 20
    wrong
  end

  def request(path)
    TCPSocket.open("127.0.0.1", @port) do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      socket.timeout = GuestTest::SECONDS
      socket.read
    end
  rescue SystemCallError, IO::TimeoutError => e
    e.class.name
  end

  def stopped
    @stopped = true
    @requests.value
  end
end

class UnicornTest < GuestTest
  test "a new master of unicorn, which inherits the listener" do
    assert_same("unicorn", /^unanswered: {}$/, /^new master: .*1 listener/, /^(?:new worker: .*1 listener.*\n){2}/) { |run| NewMaster.new(run).call }
  end
end
