# frozen_string_literal: true

# Asks every process that has a socket below FOLDER, at random: whole requests, halves, garbage, connections that never read or
# never write, many at once, and the signal that attaches.  Prints what no answer may be.
# Usage: ruby asker.rb SEED FOLDER      FOLDER/quiet: ends all connections, makes FOLDER/quieted, and waits until it is killed

require "socket"
require "io/wait"

class Asker
  ATTACH = 45
  SETTINGS = ["interval=1m malloc=off", "interval=4k malloc=off", "interval=auto", "interval=64k quiet", "every=1", "interval=nonsense"].freeze
  REQUESTS = ["hello", "hello", "memory", "memory", "profile", "profile", "profile gc=1 diagnose=10%25", "profile why=1 diagnose=10%25", "profile gc=1 why=1 diagnose=10%25",
              "profile diagnose=5%25", "nonsense", "profile gc=1", "stop", "stop", *Array.new(3) { "start" }, "set"].freeze
  HEADER = /\Aheap-sample\/1 (?:ok (?:json|pb\.gz|text)|error text) \d+\n/n

  def initialize(seed, folder)
    @random = Random.new(seed)
    @folder = folder
    @open = []
    @mutex = Mutex.new
  end

  # It begins when the host says so: until then the host counts its descriptors.
  def run
    sleep(0.02) while Dir.glob("#{@folder}/attach-*").empty?
    threads = Array.new(2) { Thread.new { act(Random.new(@mutex.synchronize { @random.rand(1 << 30) })) until quiet? } }
    threads.each(&:join)
    @open.each(&:close)
    # A request that is served just now ends first.
    sleep(0.1)
    File.write("#{@folder}/quieted", "")
    sleep
  end

  private

  def quiet? = File.exist?("#{@folder}/quiet")

  def act(random)
    # One in two of all: starts and stops meet more of what the host does.
    case random.rand(20)
    when 0..10 then ask(random)
    when 11 then send_part(random, "heap-sample/1 #{request(random)}\n".then { |line| line[0, random.rand(line.size)] })
    when 12 then send_part(random, random.bytes(1 + random.rand(6000)))
    when 13 then send_part(random, "heap-sample/1 profile\n")
    when 14 then connect(random)&.close
    when 15 then Array.new(40) { connect(random) }.compact.each(&:close)
    when 16 then signal(random)
    else sleep(random.rand * 0.02)
    end
  rescue SystemCallError, IOError
    nil                         # the process has ended, or has closed the connection
  end

  def request(random)
    verb = REQUESTS.sample(random: random)
    verb.match?(/\A(?:start|set)/) ? "#{verb} #{SETTINGS.sample(random: random)}" : verb
  end

  def connect(random)
    path = Dir.glob("#{@folder}/ruby-heap-*/*.sock").sample(random: random) or return
    UNIXSocket.new(path)
  rescue SystemCallError
    nil
  end

  def ask(random)
    socket = connect(random) or return
    request = request(random)
    socket.write("heap-sample/1 #{request}\n")
    answer = +"".b
    while socket.wait_readable(40)
      break if answer.bytesize > 64 << 20 || !(part = socket.read_nonblock(65_536, exception: false))

      answer << part unless part.is_a?(Symbol)
    end
    look(request, answer)
  ensure
    socket&.close
  end

  # A frame, and nothing that belongs to the program.
  def look(request, answer)
    return if answer.empty?

    good = answer.match?(HEADER) && !answer.match?(/row for|select \d|execution expired|no message|Timeout|Wanted|from the daemon/n)
    $stdout.puts("#{request}: answered with #{answer[0, 300].inspect}") unless good || answer.start_with?("heap-sample/1 ok pb.gz")
  end

  # The connection stays open for a while; some never end by themselves.
  def send_part(random, bytes)
    socket = connect(random) or return
    socket.write_nonblock(bytes)
    old = @mutex.synchronize { @open.push(socket).shift if @open.size > 12 + random.rand(12) }
    old&.close
  end

  # To processes that handle it, and never exec: they have named themselves.
  def signal(random)
    path = Dir.glob("#{@folder}/attach-*").sample(random: random) or return
    pid = path[/\d+\z/].to_i
    return unless File.read("/proc/#{pid}/status")[/^SigCgt:\s*(\h+)/, 1].to_i(16)[ATTACH - 1] == 1

    Process.kill(ATTACH, pid)
    Dir.glob("#{@folder}/ruby-heap-*/#{pid}-*.sock").each { |socket| File.unlink(socket) } if random.rand(4).zero?
  end
end

$stdout.sync = true
Asker.new(Integer(ARGV[0]), ARGV[1]).run
