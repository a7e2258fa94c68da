# frozen_string_literal: true

# One thing that a program does to itself or to its children.  `call` returns a line that depends on the seed alone, never on
# timing or on the sampler: the runs with and without sampling must print the same.  What must happen is waited for, up to
# PATIENCE: what has not happened by then is lost, not slow.
class Act
  PATIENCE = 60

  @all = {}

  class << self
    attr_reader :all

    def inherited(act)
      super
      # One that names its kind only is no act.
      Act.all[act.name.gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase] = act unless act.name == "LongAct"
    end
  end

  # `database`: port of a server in another process, which answers each line with "row for LINE".
  def initialize(random, number, database)
    @random = random
    @number = number
    @database = database
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Whether the block is true within PATIENCE.
  def soon(seconds = PATIENCE)
    deadline = now + seconds
    sleep(0.005) until (done = yield) || now > deadline
    done ? true : false
  end

  # What an IO gives within PATIENCE: a line, or nil.
  def line_of(io) = io.wait_readable(PATIENCE) && io.gets

  # Ruby code that runs until it is interrupted, or until PATIENCE is over: then nil.
  def busy
    deadline = now + PATIENCE
    100.times(&:to_s) while now < deadline
  end

  # What a block in a forked child prints, and how the child ended.
  def in_child
    read, write = IO.pipe
    pid = fork do
      read.close
      $stdout.reopen(write)
      yield
      $stdout.flush
    end
    write.close
    text = +""
    while read.wait_readable(PATIENCE)
      break if (part = read.read_nonblock(65_536, exception: false)).nil?

      text << part unless part.is_a?(Symbol)
    end
    read.close
    [text.strip, ending_of(pid)].join(", ")
  end

  # How a child ended; one that does not end is killed.
  def ending_of(pid)
    status = nil
    return "has not ended" unless soon { (status = Process.wait2(pid, Process::WNOHANG)&.last) } || (Process.kill(:KILL, pid) && !Process.wait(pid))

    status.signaled? ? "signal #{status.termsig}" : "status #{status.exitstatus}"
  end

  # Asks the database over connections of its own: how many answers were right.  Each has its own numbers, so that a row of
  # another connection is a wrong one.
  def right_answers(connections, queries)
    sockets = Array.new(connections) { TCPSocket.new("127.0.0.1", @database) }
    right = 0
    queries.times do |query|
      sockets.each_with_index { |socket, index| socket.write("select #{@number}-#{index}-#{query}\n") }
      sockets.each_with_index { |socket, index| right += 1 if line_of(socket) == "row for select #{@number}-#{index}-#{query}\n" }
      yield if block_given?
      break if right < (query + 1) * connections      # lost bytes are lost: do not wait for each of the others
    end
    sockets.each(&:close)
    "#{right} of #{connections * queries} answers right"
  rescue SystemCallError, IOError => e
    "#{right} answers right, then #{e.class}"
  end
end

# An act that goes on while others follow: `call` begins it, and `finish`, at the end of the run, returns its line.
class LongAct < Act
  # What a process that is no child of ours says in the end; nil: nothing.
  def finish
    return "begun, and never ended" unless soon(2 * PATIENCE) { File.exist?(result) }

    File.read(result).tap { File.unlink(result) }.strip
  end

  private

  def result = "result-#{@number}"

  def report(text)
    File.write("#{result}.new", text)
    File.rename("#{result}.new", result)
  end

  # May this process get the signal that attaches?  It must not exec.
  def may_be_signalled = ENV["ASKED"] && File.write("#{ENV.fetch("ASKED")}/attach-#{Process.pid}", "")
end
