# frozen_string_literal: true

# A program ends when it would have ended, though its profile cannot be written: the disk hangs, a FIFO has no reader
# that reads, stderr is full. A signal acts as without sampling.

require_relative 'faults'
require 'etc'
require 'socket'

# All at once: most tests wait for 10 s.
Minitest.parallel_executor = Minitest::Parallel::Executor.new(16)

class EndsTest < FaultsTest
  parallelize_me!
  OUT = "#{SCRATCH}/ends".freeze
  SLOW = compile('slow.c')
  ANSWER = 'puts "answer"; $stdout.flush; exit 4'
  # The call of the shim takes 120 s. What is to end within 10 s has 40 on a busy machine.
  SOON = 40
  # What ends at once; longer where more than eight programs want each processor.
  NOW = 8 * [1, File.read('/proc/loadavg').to_f / Etc.nprocessors / 8].max

  Ended = Struct.new(:out, :err, :status, :seconds, :left)

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def folder(name)
    dir = "#{OUT}/#{name}"
    FileUtils.rm_rf(dir)
    FileUtils.mkdir_p("#{dir}/profiles")
    dir
  end

  # Runs the script; yields its pid and what it has printed so far, when the disk hangs.
  def ended(dir, settings, script = ANSWER, slow: nil, err: "#{dir}/err", env: {})
    env = { 'RUBYOPT' => nil, 'RUBY_HEAP_SAMPLE' => nil, 'LD_PRELOAD' => slow && SLOW, 'SLOW' => slow, 'SLOW_SEEN' => "#{dir}/seen", **env }
    began = now
    pid = spawn(env, RUBY, '--disable=gems', '-W0', *settings && "--heap-sample=interval=1k,#{settings}", '-e', "$kept = Array.new(2_000) { |i| [i.to_s] }; #{script}",
                out: "#{dir}/out", err: err)
    if block_given?
      sleep 0.02 until File.exist?("#{dir}/seen") || now > began + 60
      yield pid
      began = now
    end
    sleep 0.02 until (status = Process.wait2(pid, Process::WNOHANG)) || now > began + 90
    seconds = now - began
    unless status
      Process.kill(:KILL, pid)
      status = Process.wait2(pid)
    end
    Ended.new(File.read("#{dir}/out"), err.is_a?(String) ? File.read(err) : '', status[1], seconds, Dir.children("#{dir}/profiles").sort)
  end

  LOST = 'heap-sample: the profile at exit is lost: '

  %w[open write fsync rename].each do |call|
    test "the disk hangs in #{call} at exit: the program ends within 10 s, as it would have, with a warning of what is lost" do
      dir = folder(call)
      one = ended(dir, "output=#{dir}/profiles/x.pb", slow: call)
      assert_equal(["answer\n", 4], [one.out, one.status.exitstatus])
      assert_includes(9..SOON, one.seconds)
      assert_equal("#{LOST}writing #{dir}/profiles/x.pb took longer than 10 s; check its disk\n", one.err)
      assert_empty(one.left.grep_v(/\A\.heapsample-/))
    end
  end

  test 'the disk hangs under a periodic profile: the end of the program waits 10 s in all' do
    dir = folder('periodic')
    one = ended(dir, "every=1,output=#{dir}/profiles/%p-%t.pb", "sleep 0.05 until File.exist?('#{dir}/seen'); #{ANSWER}", slow: 'fsync')
    assert_equal(["answer\n", 4], [one.out, one.status.exitstatus])
    assert_includes(9..SOON, one.seconds)
    assert_operator(one.err, :start_with?, "#{LOST}writing #{dir}/profiles/")
  end

  test 'the disk hangs: stop gives up after 10 s, other threads run meanwhile, and sampling starts again' do
    dir = folder('stopped')
    one = ended(dir, "every=1,output=#{dir}/profiles/%p-%t.pb", <<~RUBY, slow: 'fsync')
      sleep 0.05 until File.exist?('#{dir}/seen')
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      ticks = Thread.new { loop { sleep 0.1; Thread.current[:ticks] = Thread.current[:ticks].to_i + 1 } }
      GC::SampleProfile.stop
      puts Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, ticks[:ticks]
      $stdout.flush
      GC::SampleProfile.start(every: 1, output: '#{dir}/profiles/%p-%t.pb')
      exit!(5)
    RUBY
    waited, ticks = one.out.lines.map(&:to_f)
    assert_equal(5, one.status.exitstatus)
    assert(waited.between?(9, SOON) && ticks > 10, one.out)
  end

  # Signals

  test 'SIGTERM and SIGINT end the program at once while the profile at exit is written, with the status of a program without sampling' do
    %i[TERM INT].each do |signal|
      dir = folder('signal')
      one = ended(dir, "output=#{dir}/profiles/x.pb", slow: 'fsync') { |pid| Process.kill(signal, pid) }
      other = folder('stock')
      stock = ended(other, nil, "at_exit { File.write('#{other}/seen', ''); sleep }; #{ANSWER}") { |pid| Process.kill(signal, pid) }
      assert_equal([stock.status.termsig, stock.status.exitstatus, stock.out], [one.status.termsig, one.status.exitstatus, one.out])
      assert_operator(one.seconds, :<, NOW)
      assert_equal("#{LOST}#{dir}/profiles/x.pb: a signal ended the process first\n", one.err.lines.grep(/heap-sample/).join)
    end
  end

  test 'a trap handler runs while the profile at exit is written, and the end waits on' do
    dir = folder('trap')
    one = ended(dir, "output=#{dir}/profiles/x.pb", "trap(:USR1) { File.write('#{dir}/trapped', '') }; #{ANSWER}", slow: 'write') do |pid|
      Process.kill(:USR1, pid)
      began = now
      sleep 0.02 until File.exist?("#{dir}/trapped") || now > began + SOON
      assert(File.exist?("#{dir}/trapped"), 'it did not run')
    end
    assert_equal(["answer\n", 4], [one.out, one.status.exitstatus])
    assert(one.err.start_with?("#{LOST}writing #{dir}/profiles/x.pb took longer than 10 s"), one.err)
  end

  test 'other threads run while the profile at exit is written' do
    dir = folder('threads')
    script = "Thread.new { 100.times { |i| sleep 0.05; File.write('#{dir}/ticks', i.to_s) if File.exist?('#{dir}/seen') } }; #{ANSWER}"
    one = ended(dir, "output=#{dir}/profiles/x.pb", script, slow: 'fsync') do |pid|
      began = now
      sleep 0.02 until File.exist?("#{dir}/ticks") || now > began + SOON
      Process.kill(:TERM, pid)
    end
    assert(File.exist?("#{dir}/ticks"), 'no thread ran')
    assert_equal(Signal.list['TERM'], one.status.termsig)
  end

  # Clients

  test 'a client that finds the control socket can connect, also while the socket is being opened' do
    dir = folder('listen')
    File.write("#{dir}/seen", '')         # the block begins at once
    ended(dir, 'output=none', 'sleep', slow: 'listen', env: { 'TMPDIR' => dir, 'XDG_RUNTIME_DIR' => nil }) do |pid|
      began = now
      sleep 0.001 until (path = Dir["#{dir}/ruby-heap-*/*.sock"].first) || now > began + SOON
      UNIXSocket.open(path, &:itself)
    ensure
      Process.kill(:KILL, pid)
    end
  end

  # Readers that do not read

  test 'a FIFO whose reader has stopped reading: the program ends within 10 s, and at once at SIGTERM' do
    dir = folder('fifo')
    File.mkfifo("#{dir}/profiles/x.pb")
    reader = File.open("#{dir}/profiles/x.pb", File::RDWR | File::NONBLOCK)
    large = "a = []; 8000.times { |i| a << eval('[Object.new]', nil, \"f\#{i % 3000}.rb\", i) };"
    settings = "interval=64,max-samples=none,output=#{dir}/profiles/x.pb"
    one = ended(dir, settings, large + ANSWER)
    assert_equal(["answer\n", 4], [one.out, one.status.exitstatus])
    assert_operator(one.seconds, :<, SOON)
    assert(one.err.match?(/\Aheap-sample: (?:the profile at exit is lost: writing \S+ took longer than 10 s|cannot write \S+: the program that reads it is too slow)/), one.err)
    reader.read_nonblock(1 << 20)
    two = ended(dir, settings, "#{large}at_exit { File.write('#{dir}/seen', '') }; #{ANSWER}") do |pid|
      sleep 2                     # it is writing: nothing is to happen meanwhile
      Process.kill(:TERM, pid)
    end
    assert_equal(Signal.list['TERM'], two.status.termsig)
    assert_operator(two.seconds, :<, NOW)
  ensure
    reader&.close
  end

  test 'stderr is a pipe that nothing reads, and full: the program ends, and its profile is whole' do
    dir = folder('stderr')
    reader, writer = IO.pipe
    nil while writer.write_nonblock('x' * 4096, exception: false) != :wait_writable
    one = ended(dir, "output=#{dir}/profiles/x.pb", err: writer)
    assert_equal(["answer\n", 4, ['x.pb']], [one.out, one.status.exitstatus, one.left])
    assert_operator(one.seconds, :<, NOW)
  ensure
    reader&.close
    writer&.close
  end
end
