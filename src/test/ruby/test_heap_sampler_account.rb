# frozen_string_literal: false
require 'test/unit'

# GC::SampleProfile.memory, and the same account in profiles.
class TestHeapSamplerAccount < Test::Unit::TestCase
  # Sums are exact; what nothing accounts for is 5% of RSS at most.
  PRELUDE = <<~'RUBY'
    MB = 1_000_000
    PARTS = %i[slots_live slots_free malloc_live malloc_waste malloc_metadata stacks code_and_files jit sampler unattributed]

    def account
      memory = GC::SampleProfile.memory
      assert_equal memory[:rss], PARTS.sum { |part| memory[part] }, memory.inspect
      assert_operator memory[:unattributed], :<=, memory[:rss] / 20, memory.inspect
      memory
    end
  RUBY

  # SUMS: the script adds all parts up, so that each must be known.
  def assert_account(script, args: [], env: {}, sums: true)
    omit "no /proc" unless File.readable?("/proc/self/smaps")
    omit "this malloc says nothing about itself" if sums && !GC::SampleProfile.memory[:malloc_live]
    assert_separately([env, "-W1", "--disable=gems", *args], PRELUDE + script, timeout: 120)
  end

  def test_shape
    assert_account(<<~'RUBY')
      assert_equal false, GC::SampleProfile.running?
      memory = account
      assert_equal [:rss, *PARTS, :pss, :threads, :fibers, :thread_stacks, :fiber_stacks, :allocator, :jemalloc, :cost_ns, :alive], memory.keys
      assert_kind_of String, memory[:allocator]
      assert_operator memory[:pss], :<=, memory[:rss]
      assert_operator memory[:cost_ns], :>, 0
      if memory[:allocator].start_with?("jemalloc")
        assert_equal %i[allocated active resident dirty retained metadata], memory[:jemalloc].keys
      else
        assert_nil memory[:jemalloc]
      end
      status = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i * 1024
      assert_in_delta status, account[:rss], status * 0.05
    RUBY
  end

  def test_objects
    assert_account(<<~'RUBY')
      GC.start
      before = account
      keep = Array.new(500_000) { Object.new }
      after = account
      assert_in_delta 500_000 * GC.stat_heap(0, :slot_size), after[:slots_live] - before[:slots_live], MB
      keep.clear
      4.times { GC.start }
      assert_in_delta before[:slots_live], account[:slots_live], MB
    RUBY
  end

  def test_heap_pages_are_known
    assert_account(<<~'RUBY')
      pages = -> { GC.stat.values_at(:heap_allocated_pages, :heap_empty_pages).sum * 65536 }
      check = -> { assert_in_delta pages.call, account.values_at(:slots_live, :slots_free).sum, pages.call * 0.02 }
      check.call
      keep = Array.new(500_000) { Object.new }
      check.call
      keep = keep.each_slice(50).map(&:first)
      4.times { GC.start }
      check.call
      if GC.respond_to?(:compact)
        GC.compact
        check.call
      end
    RUBY
  end

  def test_malloc
    assert_account(<<~'RUBY')
      before = account
      keep = Array.new(100) { "a" * MB }
      assert_in_delta 100 * MB, account[:malloc_live] - before[:malloc_live], 5 * MB
    RUBY
  end

  # jemalloc gives small blocks that it samples extents of their own, with a page of padding each.
  def test_small_blocks_of_which_many_are_sampled
    %w[4k 64k].each do |interval|
      assert_account(<<~'RUBY', env: {"RUBY_HEAP_SAMPLE" => "malloc=#{interval},interval=512k,max-samples=none,output=none,quiet"})
        GC.disable
        before = account
        kept = Array.new(50_000) { "x" * 1000 }
        after = account
        assert_in_delta 51.2 * MB, after[:malloc_live] - before[:malloc_live], 3 * MB, after.inspect
        assert_equal 50_000, kept.size
      RUBY
    end
  end

  def test_one_large_buffer_touched_and_not
    assert_account(<<~'RUBY')
      before = account
      untouched = String.new(capacity: 500 * MB)
      after = account
      assert_in_delta before[:rss], after[:rss], 3 * MB
      assert_in_delta before[:malloc_live], after[:malloc_live], 3 * MB
      touched = "a" * (100 * MB)
      assert_in_delta 100 * MB, account[:malloc_live] - after[:malloc_live], 5 * MB
    RUBY
  end

  # What was freed and never touched is no waste, and nothing is taken off the living for it.
  def test_large_buffers_untouched_and_freed
    assert_account(<<~'RUBY')
      before = account
      omit "of jemalloc's dirty pages" unless before[:jemalloc]
      keep = Array.new(30_000) { "a" * 1000 }
      untouched = Array.new(60) { String.new(capacity: MB) }
      assert_in_delta 31 * MB, account[:malloc_live] - before[:malloc_live], 4 * MB
      untouched.each(&:clear)               # frees the buffer
      after = account
      assert_operator after[:jemalloc][:dirty], :>, 20 * MB
      assert_in_delta 31 * MB, after[:malloc_live] - before[:malloc_live], 4 * MB
      assert_operator after[:malloc_waste] - before[:malloc_waste], :<, 6 * MB
    RUBY
  end

  # jemalloc keeps up to 2 MiB behind a large block, free and never touched: the samples say what of the blocks was.
  def test_large_buffers_touched_where_malloc_is_sampled
    assert_account(<<~'RUBY', args: ["--heap-sample=output=none"])
      omit GC::SampleProfile.stat[:malloc_missing] unless GC::SampleProfile.stat[:malloc] == :on
      require "heapsample/sample_profile"
      touched = Array.new(40) { "x" * 10 * MB }
      assert_in_delta 400 * MB, account[:malloc_live], 20 * MB
      untouched = Array.new(40) { String.new(capacity: 10 * MB) }
      assert_in_delta 400 * MB, account[:malloc_live], 20 * MB
      assert_in_delta 400 * MB, GC.sample_profile.to_profile.info.account.parts.fetch("malloc_live"), 20 * MB
      assert_operator GC.sample_profile.rows.select(&:malloc?).sum { |row| row.inuse.space }, :>, 700 * MB
    RUBY
  end

  def test_waste
    assert_account(<<~'RUBY')
      before = account
      keep = Array.new(100_000) { "a" * 1000 }
      full = account
      assert_in_delta 110 * MB, full[:malloc_live] - before[:malloc_live], 15 * MB
      # One survivor in each page of four: nothing that malloc could give back
      scattered = keep.each_slice(4).map(&:first)
      keep.clear
      GC.start
      left = account
      assert_operator left[:malloc_waste] - before[:malloc_waste], :>, 60 * MB
      assert_operator left[:malloc_live] - before[:malloc_live], :<, 45 * MB
    RUBY
  end

  def test_threads
    assert_account(<<~'RUBY')
      def deep(n) = n == 0 ? sleep : deep(n - 1)
      before = account
      50.times.map { Thread.new { [1].each { deep(1000) } } }.each { |thread| Thread.pass until thread.stop? }
      after = account
      # With VM_CHECK_MODE MRI clears the whole stack of the VM, 1 MiB, to which the machine stack is added.
      assert_include (50 * 8192)..(50 * 1_179_648), after[:stacks] - before[:stacks]
    RUBY
  end

  def test_fibers
    assert_account(<<~'RUBY')
      before = account
      keep = Array.new(1000) { Fiber.new { [1].each { Fiber.yield } }.tap(&:resume) }
      after = account
      most = 65536
      # A build with RUBY_DEBUG fills each fiber's VM stack.
      most += RubyVM::DEFAULT_PARAMS[:fiber_vm_stack_size] if RbConfig::CONFIG["cppflags"].include?("RUBY_DEBUG")
      assert_include (1000 * 8192)..(1000 * most), after[:stacks] - before[:stacks]
    RUBY
  end

  def test_fork
    omit "no fork" unless Process.respond_to?(:fork)
    assert_account(<<~'RUBY')
      keep = Array.new(200_000) { "a" * 100 }
      GC.start
      parent = account
      IO.pipe do |read, write|
        pid = fork do
          read.close
          GC.start
          Marshal.dump([GC::SampleProfile.memory, (more = Array.new(100_000) { Object.new }; GC::SampleProfile.memory)], write)
          write.close
          exit!(0)
        end
        write.close
        child, grown = Marshal.load(read)
        Process.wait(pid)
        [child, grown].each do |memory|
          assert_equal memory[:rss], PARTS.sum { |part| memory[part] }
          assert_operator memory[:unattributed], :<=, memory[:rss] / 20, memory.inspect
        end
        assert_in_delta parent[:slots_live], child[:slots_live], MB
        assert_operator child[:pss], :<, child[:rss] * 0.8
        assert_in_delta 100_000 * GC.stat_heap(0, :slot_size), grown[:slots_live] - child[:slots_live], MB
      end
    RUBY
  end

  def test_yjit
    omit "no YJIT" unless defined?(RubyVM::YJIT.enabled?)
    assert_account(<<~'RUBY', args: ["--yjit", "--yjit-call-threshold=2"])
      def work(n) = n.times.sum { |i| i.to_s.size + [i].first }
      10.times { work(100) }
      assert_operator account[:jit], :>, 0
    RUBY
  end

  def test_other_threads_run_meanwhile
    assert_account(<<~'RUBY')
      count = 0
      Thread.new { loop { count += 1 } }
      Thread.pass until count > 0
      # The kernel may run it later, on a busy machine much later: in one of many rounds it runs in each second account.
      # Without the GVL's release it would run between the time slices alone: in one of ten.
      ran = 50.times.lazy.map do
        20.times.count do
          before = count
          account
          count > before
        end
      end
      assert ran.any? { |times| times >= 10 }
    RUBY
  end

  def test_threads_that_allocate_meanwhile
    assert_account(<<~'RUBY')
      stop = false
      threads = 3.times.map { Thread.new { (Array.new(1000) { "a" * 2000 }; Object.new) until stop } }
      30.times { account }
      stop = true
      threads.each(&:join)
    RUBY
  end

  def test_profiles_have_it
    assert_account(<<~'RUBY')
      require "heapsample/sample_profile"
      assert_nil GC.sample_profile {}.to_profile.info.account_at_start
      assert_kind_of HeapSample::Account, GC.sample_profile {}.to_profile.info.account

      GC::SampleProfile.start
      keep = Array.new(50) { "a" * MB }
      info = GC.sample_profile.to_profile.info
      assert_in_delta 50 * MB, info.account.rss - info.account_at_start.rss, 5 * MB
      assert_equal info.account.rss, info.account.parts.values.sum
      assert_match(/^Growing in malloc /, GC.sample_profile.report.to_s)

      GC::SampleProfile.stop
      GC::SampleProfile.start
      info = GC.sample_profile.to_profile.info
      assert_in_delta 0, info.account.rss - info.account_at_start.rss, 5 * MB
      assert_match(/^Not growing: /, GC.sample_profile.report.to_s)
    RUBY
  end

  def test_a_child_keeps_the_start_of_its_parent
    omit "no fork" unless Process.respond_to?(:fork)
    assert_account(<<~'RUBY')
      require "json"
      GC::SampleProfile.start
      start = -> { GC.sample_profile.to_profile.meta["account_at_start"] }
      expected = start.call
      IO.pipe do |read, write|
        pid = fork { write << JSON.generate(start.call); write.close; exit!(0) }
        write.close
        assert_equal expected, JSON.parse(read.read)
        Process.wait(pid)
      end
    RUBY
  end

  def test_without_proc
    omit "only root may chroot" unless Process.uid == 0 && Process.respond_to?(:fork)
    assert_account(<<~'RUBY')
      require "tmpdir"
      Dir.mktmpdir do |empty|
        IO.pipe do |read, write|
          pid = fork do
            Dir.chroot(empty)
            Marshal.dump(GC::SampleProfile.memory, write)
            write.close
            exit!(0)
          end
          write.close
          memory = Marshal.load(read)
          Process.wait(pid)
          assert_equal %i[rss stacks code_and_files jit unattributed pss thread_stacks fiber_stacks], memory.select { |_, value| value.nil? }.keys - [:jemalloc]
          assert_operator memory[:slots_live], :>, 0
        end
      end
    RUBY
  end

  # A snapshot of a large process counts pages by other means than .memory, so as not to hold up
  # threads: it says the same, without Pss.
  LARGE_PROCESS = <<~'RUBY'
    objects = Array.new(300_000) { |i| "object #{i}" }
    buffers = Array.new(60) { "x" * MB }
    threads = Array.new(10) { Thread.new { sleep } }
    def deep(n) = n.zero? ? Fiber.yield : [n].each { deep(n - 1) }      # some 50 KB of stack; five times that where a sanitizer is built in
    fibers = Array.new(200) { Fiber.new { deep(50) }.tap(&:resume) }
    GC.start
    2.times { GC.sample_profile.to_profile }
    GC.start
    GC.disable
    # jemalloc gives back what is free after ten seconds, on a busy machine perhaps in between.
    pairs = Array.new(3) { [GC.sample_profile, account] }.map { |snapshot, memory| [snapshot.to_profile.meta["account"], memory] }
    profile, memory = pairs.min_by { |one, other| [:rss, *PARTS].map { |part| (one[part.name] - other[part]).abs }.max }
    assert_nil profile["pss"]
    assert_operator memory[:pss], :>, 60 * MB
    assert_operator memory[:stacks], :>, 5 * MB
    assert_equal profile["rss"], PARTS.sum { |part| profile[part.name] }
    # A profile counts memory without a known owner (UBSan's own, where that is built in) as malloc's.
    slack = 2 * MB + memory[:unattributed]
    [:rss, *PARTS].each { |part| assert_in_delta memory[part], profile[part.name], slack, part.inspect }
  RUBY

  def test_snapshots_of_a_large_process
    assert_account(LARGE_PROCESS, args: ["--heap-sample=output=none"])
  end

  def test_snapshots_of_a_large_process_whose_fibers_have_larger_stacks_than_threads
    env = { "RUBY_THREAD_MACHINE_STACK_SIZE" => "1", "RUBY_FIBER_MACHINE_STACK_SIZE" => "4000000" }
    assert_account(LARGE_PROCESS, args: ["--heap-sample=output=none"], env: env)
  end

  # The kernel merges it with the program's .bss, or puts it right behind.
  def test_mapping_behind_the_program
    assert_account(<<~'RUBY')
      begin
        require "fiddle"
      rescue LoadError
        omit "no fiddle"
      end
      program = File.realpath("/proc/self/exe")
      maps = File.readlines("/proc/self/maps", chomp: true)
      last = maps.rindex { |line| line.end_with?(program) }
      bss = maps[last + 1]
      omit "no .bss" unless bss.start_with?(maps[last][/-(\h+)/, 1] + "-") && bss.split.size == 5
      int, pointer, size = Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T
      mmap = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], [pointer, size, int, int, int, Fiddle::TYPE_LONG], pointer)
      read_write, private_anonymous_fixed_noreplace = 3, 0x100022
      before = account
      place = bss[/-(\h+)/, 1].hex
      mapped = mmap.call(place, 3 * (1 << 20), read_write, private_anonymous_fixed_noreplace, -1, 0)
      omit "the place is taken" unless mapped.to_i == place
      mapped[0, 3 * (1 << 20)] = "x" * 3 * (1 << 20)
      assert_operator GC::SampleProfile.memory[:code_and_files] - before[:code_and_files], :<, MB
    RUBY
  end

  # A mapping of which hardly anything is resident (a database's file, a JIT's or ASan's reserve) is
  # not read page by page: this one would take seconds.
  def test_snapshots_beside_a_vast_mapping
    omit "no mapping of files" unless IO::Buffer.respond_to?(:map)
    assert_account(<<~'RUBY', args: ["-W0", "--heap-sample=output=none"], sums: false)
      require "tempfile"
      file = Tempfile.new("vast")
      file.truncate(1 << 40)
      map = IO::Buffer.map(file, 1 << 40, 0, IO::Buffer::READONLY)
      touched = "x" * (64 * MB)
      took = Array.new(3) { GC.sample_profile.to_profile.meta["account"]["cost_ns"] }.min
      assert_operator took, :<, 500_000_000
      assert_equal 1 << 40, map.size
      map.free
    RUBY
  end

  # What a profile took is free again when it is written, but it would stay resident: the thread that writes
  # them sleeps, and so no thread ages the free pages of its arena.
  def test_periodic_profiles_leave_no_waste
    omit "no jemalloc" unless GC::SampleProfile.memory[:jemalloc]
    Dir.mktmpdir do |dir|
      assert_account(<<~RUBY, args: ["--heap-sample=interval=1k,every=1,keep=1,output=#{dir}/heap-%t.pb.gz"])
        nested = ->(depth, &block) { depth.zero? ? block.call : nested.(depth - 1, &block) }
        keep = Array.new(60_000) { |i| nested.(i % 40) { ["a" * 20, [i] * 3, { i => 1 }] } }
        2.times { GC.start }
        before = account
        sleep 0.1 until Dir.children("#{dir}").any? { |name| name.end_with?(".pb.gz") }
        sleep 1
        # Of several: one is perhaps just being written, on a busy machine for long.
        waste = nil
        own = before[:sampler]
        100.times do
          sleep 0.3
          now = account
          own = [own, now[:sampler]].min
          waste = [waste, now[:malloc_waste]].compact.min
          break if waste - before[:malloc_waste] < MB && GC::SampleProfile.stat[:bytes_peak] > own + MB / 2
        end
        assert_operator GC::SampleProfile.stat[:bytes_peak], :>, own + MB / 2
        assert_operator waste - before[:malloc_waste], :<, MB
        GC::SampleProfile.stop          # no word of a last profile
      RUBY
    end
  end
end
