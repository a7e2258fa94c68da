# frozen_string_literal: true

# A daemon closes every descriptor that it did not open, in one of the ways in which programs do that, and then works with
# connections to a database and files of its own for some seconds.
class Daemons < LongAct
  CLOSE_RANGE = 436       # the system call, on every architecture

  def call
    way = %i[the_gem close_range process_daemon][@random.rand(3)]
    child = fork do
      folder = Dir.pwd
      way == :process_daemon ? Process.daemon(true, true) : detach
      Dir.chdir(folder)
      may_be_signalled
      send(way)
      work
    end
    Process.wait(child)
    "#{way} begun"
  end

  private

  def detach
    exit! if fork
    Process.setsid
  end

  def process_daemon; end

  # Daemonize#close_io: MRI refuses to close its own.
  def the_gem
    3.upto(1024) do |number|
      IO.for_fd(number).close
    rescue SystemCallError, ArgumentError
      nil
    end
  end

  # All but MRI's own, which are an epoll and an eventfd.
  def close_range
    own = Dir.children("/proc/self/fd").map(&:to_i).select { |number| File.readlink("/proc/self/fd/#{number}").start_with?("anon_inode:") rescue false }
    first = 3
    [*own.select { |number| number > 2 }.sort, 4096].each do |number|
      syscall(CLOSE_RANGE, first, number - 1, 0) if number > first
      first = number + 1
    end
  end

  def work
    log = File.open("daemon-#{@number}", "w+")
    servers = Array.new(3) { TCPServer.new("127.0.0.1", 0) }
    served = 0
    answers = right_answers(4, 12) do
      server = servers[served % servers.size]
      client = TCPSocket.new("127.0.0.1", server.addr[1])
      taken = server.wait_readable(PATIENCE) && server.accept
      taken.write("from the daemon\n")
      served += 1 if line_of(client) == "from the daemon\n"
      taken.close
      client.close
      log.puts("line #{served}")
      log.flush
      sleep(0.3)
    end
    child = in_child { puts servers.map { |server| server.stat.ftype }.tally, log.stat.ftype }
    log.rewind
    report("#{answers}, #{served} served, log right: #{log.read == (1..12).map { |n| "line #{n}\n" }.join}, child: #{child.tr("\n", " ")}")
  rescue StandardError => e
    report("#{e.class}: #{e.message}")
  ensure
    File.unlink(log.path) if log
    exit!(0)
  end
end
