# frozen_string_literal: false
require 'test/unit'

# How many threads and fibers there are, what they do, where they were made, and how much of their stacks is resident:
# GC::SampleProfile.memory, the same in profiles, and what malloc's rows leave to it.
class TestHeapSamplerThreads < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    MB = 1_000_000
    def alive = GC::SampleProfile.memory[:alive]
    def threads = alive[:threads]
    def fibers = alive[:fibers]
    def made(kind, line) = alive[kind][:made].find { |one| one[:line] == line } || {count: 0}
    # States change a moment after what caused it.
    def assert_soon(expected, message = nil)
      got = nil
      6000.times { (got = yield) == expected ? break : sleep(0.01) }
      assert_equal expected, got, message
    end
  RUBY

  def assert_alive(script, args: [], env: {}, timeout: 120)
    omit "no /proc" unless File.readable?("/proc/self/pagemap")
    assert_separately([env, "-W1", "--disable=gems", *args], PRELUDE + script, timeout: timeout)
  end

  def test_main_thread_alone
    assert_alive(<<~'RUBY')
      all = alive
      assert_equal [:threads, :fibers], all.keys
      assert_equal [1, 1, 0], all[:threads].values_at(:count, :running, :ended)
      assert_equal [["(main)", nil, 1]], all[:threads][:made].map { |one| one.values_at(:path, :line, :count) }
      assert_equal 0, all[:fibers][:count]
      assert_equal [], all[:fibers][:made]
      memory = GC::SampleProfile.memory
      assert_equal [1, 0], memory.values_at(:threads, :fibers)
    RUBY
  end

  def test_states_of_threads
    assert_alive(<<~'RUBY')
      mutex, queue, ready = Mutex.new, Queue.new, Queue.new
      pipe, writer = IO.pipe    # GC would close an end without a reference, and the thread would read its end
      mutex.lock
      all = [
        Thread.new { sleep },
        Thread.new { sleep 1000 },
        Thread.new { mutex.lock },
        Thread.new { queue.pop },
        Thread.new { pipe.read(1) },
        Thread.new { Thread.handle_interrupt(RuntimeError => :never) { queue.pop } }
      ]
      busy = Thread.new { ready << 1; loop { } }
      ready.pop
      assert_soon([2, 3, 1, 8]) { threads.values_at(:sleeping, :waiting, :blocked, :count) }
      # The one that asks, and the busy one.
      assert_soon(2) { threads.then { |now| now[:running] + now[:runnable] } }
      busy.kill.join
      assert_soon(7) { threads[:count] }
      queue << 1
      queue << 1
      mutex.unlock
      all[2, 2].each(&:join)
      all[5].join
      assert_soon(4) { threads[:count] }
      all[0, 2].each(&:kill).each(&:join)
      assert_soon(2) { threads[:count] }
      assert_operator threads[:ended], :>=, 5, "their objects are in an array"
      writer.close
    RUBY
  end

  def test_ended_threads_go_with_their_objects
    assert_alive(<<~'RUBY')
      make = -> { 50.times.map { Thread.new { } }.each(&:join) }
      keep = make.()
      assert_soon([1, 50]) { threads.values_at(:count, :ended) }
      keep.clear
      # Deep in the machine stack, so that what stays behind there keeps none of them.
      deep = ->(depth) { depth.zero? ? make.().clear : [1].each { deep.(depth - 1) } }
      deep.(30)
      4.times { GC.start }
      assert_operator threads[:ended], :<, 20
    RUBY
  end

  def test_places
    assert_alive(<<~'RUBY')
      def wrap(&block) = Thread.new(&block)
      keep = Array.new(7) { Thread.new { sleep } }
      keep += Array.new(3) { wrap { sleep } }
      here = __LINE__
      assert_equal 7, made(:threads, here - 2)[:count]
      assert_equal 3, made(:threads, here - 1)[:count], "the line of the block, not of the method that it is given to"
      assert_equal __FILE__, made(:threads, here - 1)[:path]
      fibers = Array.new(5) { Fiber.new { Fiber.yield } }
      assert_equal 5, made(:fibers, __LINE__ - 1)[:count]
      enumerators = Array.new(2) { [1, 2].each.tap(&:next) }
      assert_equal 2, made(:fibers, __LINE__ - 1)[:count], "made in C: the line that called it"
      def work = sleep
      keep << Thread.new(&method(:work))
      assert_soon(1) { made(:threads, method(:work).source_location[1])[:count] }
    RUBY
  end

  def test_many_places
    assert_alive(<<~'RUBY')
      keep = Array.new(1500) { |i| eval("Fiber.new { }", nil, "file#{i}.rb", i + 1) }
      now = fibers
      assert_equal 1500, now[:count]
      assert_equal 65, now[:made].size
      assert_equal 1500, now[:made].sum { |one| one[:count] }
      assert_equal ["(other)", nil], now[:made].last.values_at(:path, :line)
      long = eval("Fiber.new { }", nil, "x" * 5000, 1)
      assert_equal 1501, fibers[:count]
    RUBY
  end

  def test_fibers
    assert_alive(<<~'RUBY')
      keep = Array.new(30) { Fiber.new { Fiber.yield } }
      line = __LINE__ - 1
      assert_equal [30, 30, 0, 0], made(:fibers, line).values_at(:count, :created, :resumed, :suspended)
      keep.first(20).each(&:resume)
      assert_equal [30, 10, 0, 20], made(:fibers, line).values_at(:count, :created, :resumed, :suspended)
      keep.first(5).each(&:resume)
      assert_equal [25, 10, 15, 5], made(:fibers, line).values_at(:count, :created, :suspended, :ended)
      keep.last.kill
      assert_equal [24, 9], made(:fibers, line).values_at(:count, :created)
      inside = nil
      Fiber.new { inside = fibers }.resume
      assert_equal 1, inside[:resumed]
      keep = nil
      1000.times { Fiber.new { }.resume }
      4.times { GC.start }
      assert_operator fibers[:count] + fibers[:ended], :<, 20
    RUBY
  end

  # "Live 537.8 MiB" of stacks that were never touched, at RSS 57 MiB.
  def test_stacks_of_sleeping_threads
    assert_alive(<<~'RUBY', args: %w[--heap-sample=interval=4k,malloc=4k,output=none])
      keep = []
      before = GC::SampleProfile.memory
      def leak(keep, n) = n.times { keep << Thread.new { sleep } }
      leak(keep, 500)
      line = __LINE__ - 2
      assert_soon(500) { threads[:sleeping] }
      GC.start
      profile = GC.sample_profile
      memory = GC::SampleProfile.memory
      omit "this malloc says nothing about itself" unless memory[:malloc_live]
      added = memory[:rss] - before[:rss]
      place = made(:threads, line)
      assert_operator place[:stacks], :>, 500 * 8192, "a page of each of two stacks"
      assert_operator place[:stacks], :<, added
      # With musl a stack ends below the thread-local variables: they have a page of the same mapping.
      assert_in_delta memory[:thread_stacks], memory[:stacks], memory[:stacks] * (RUBY_PLATFORM.end_with?("musl") ? 0.25 : 0.15)
      assert_operator memory[:stacks] - before[:stacks], :<, added
      rows = profile.rows.sum { |row| row.inuse.space }
      assert_operator rows, :<, added, "no row has stacks that were never touched"
      parts = %i[slots_live slots_free malloc_live malloc_waste malloc_metadata stacks code_and_files jit sampler unattributed]
      assert_equal memory[:rss], parts.sum { |part| memory[part] }
      assert_equal 500, profile.to_profile.info.alive.threads.made.first.count
      keep.each(&:kill).each(&:join)
      keep.clear
    RUBY
  end

  def test_stacks_of_suspended_fibers
    assert_alive(<<~'RUBY', args: %w[--heap-sample=interval=4k,malloc=4k,output=none])
      before = GC::SampleProfile.memory
      keep = Array.new(1000) { Fiber.new { Fiber.yield }.tap(&:resume) }
      line = __LINE__ - 1
      memory = GC::SampleProfile.memory
      stacks = memory[:stacks] - before[:stacks]
      assert_operator made(:fibers, line)[:stacks], :>, 1000 * 8192
      assert_in_delta stacks, made(:fibers, line)[:stacks], stacks * 0.1
      assert_operator stacks, :<=, memory[:rss] - before[:rss] + MB
      rows = GC.sample_profile.rows.sum { |row| row.inuse.space }
      assert_operator rows, :<, memory[:rss] - before[:rss]
    RUBY
  end

  def test_fork
    omit "no fork" unless Process.respond_to?(:fork)
    assert_alive(<<~'RUBY', args: %w[--heap-sample=output=none])
      keep = Array.new(20) { Thread.new { sleep } }
      fiber = Fiber.new { Fiber.yield }.tap(&:resume)
      assert_soon(20) { threads[:sleeping] }
      check = lambda do |expected|
        pid = fork do
          GC.start
          now = threads
          exit!(now[:count] == 1 && now[:ended] <= 22 && fibers[:count] == 1 && Thread.new { threads[:count] }.value == 2)
        end
        assert_predicate Process.wait2(pid).last, :success?
      end
      check.(1)
      Thread.new { check.(1) }.join
      # While another thread counts.
      counting = Thread.new { loop { alive } }
      20.times { check.(1) }
      counting.kill.join
      assert_equal 21, threads[:count]
    RUBY
  end

  # Each is a thread. In 3.4.5, unpatched too, a thread that begins in a Ractor hangs at times, and fibers that run in
  # several Ractors end the process: their stacks come from one pool without a lock.
  def test_ractors
    assert_alive(<<~'RUBY')
      Warning[:experimental] = false
      ractors = Array.new(4) { Ractor.new { keep = Fiber.new { }; Ractor.receive; 2000.times { Fiber.new { } }; :done.tap { keep } } }
      line = __LINE__ - 1
      assert_soon([4, 4]) { [made(:threads, line)[:count], made(:fibers, line)[:count]] }
      ractors.each { |ractor| ractor.send(1) }
      20.times { alive }
      assert_equal [:done] * 4, ractors.map(&:take)
      assert_soon(1) { threads[:count] }
    RUBY
  end

  def test_many_to_many
    assert_alive(<<~'RUBY', env: {"RUBY_MN_THREADS" => "1"})
      before = GC::SampleProfile.memory
      queue = Queue.new
      keep = Array.new(100) { Thread.new { queue.pop } } + Array.new(100) { Thread.new { sleep 1000 } }
      line = __LINE__ - 1
      assert_soon([100, 100]) { threads.values_at(:waiting, :sleeping) }
      memory = GC::SampleProfile.memory
      assert_equal 200, made(:threads, line)[:count]
      assert_operator made(:threads, line)[:stacks], :>, 200 * 8192
      assert_operator made(:threads, line)[:stacks], :<=, memory[:rss] - before[:rss]
      assert_in_delta memory[:stacks] - before[:stacks], made(:threads, line)[:stacks], (memory[:stacks] - before[:stacks]) * 0.2
      100.times { queue << 1 }
      assert_soon(101) { threads[:count] }
    RUBY
  end

  # What counts without the GVL, next to what begins and ends.
  def test_count_while_they_come_and_go
    assert_alive(<<~'RUBY', args: %w[--heap-sample=interval=64k,output=none])
      stop = false
      makers = Array.new(3) do
        Thread.new { keep = []; until stop; keep << Thread.new { } << Fiber.new { Fiber.yield }.tap(&:resume); keep.shift(10) if keep.size > 200; end }
      end
      10.times do
        now = alive
        now.each_value { |kind| assert_equal kind[:count], kind[:made].sum { |one| one[:count] } }
      end
      stop = true
      makers.each(&:join)
      GC.compact if GC.respond_to?(:compact)
      assert_soon(1) { threads[:count] }
    RUBY
  end

  def test_in_files
    assert_alive(<<~'RUBY', args: %w[--heap-sample=output=none])
      require 'tmpdir'
      keep = Array.new(9) { Thread.new { sleep } }
      line = __LINE__ - 1
      assert_soon(9) { threads[:sleeping] }
      Dir.mktmpdir do |dir|
        GC.sample_profile.save("#{dir}/x.pb.gz")
        info = HeapSample::Profile.load("#{dir}/x.pb.gz").info
        assert_equal [10, 1], [info.account.alive[:threads], info.account_at_start.alive[:threads]]
        one = info.alive.threads.made.first
        assert_equal [__FILE__, line, 9, {"sleeping" => 9}], [one.place.path, one.place.line, one.count, one.states]
        text = HeapSample::Profile.load("#{dir}/x.pb.gz").report.to_s
        assert_match(/^Threads: 1 → 10 since sampling started; 9 sleeping, 1 running; .* of stack memory resident$/, text)
      end
    RUBY
  end
end
