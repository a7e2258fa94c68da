# frozen_string_literal: false
require 'test/unit'

# What retains memory: GC.sample_profile(why: true) lets a child process walk the heap, and shows for each live sample on which
# chain of references it is reached (src/heap_sampler/heap_walk).
class TestHeapSamplerHolders < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    require "heapsample"
    require "json"
    require "objspace"
    # The chains of a profile. A path is a list of steps, root first.
    class Why
      Step = Struct.new(:kind, :name, :class, :path, :line, :objects, :folded, :entries, :bound)
      attr_reader :raw, :kept
      # With 120 s for the walk in place of 30: a busy machine may need them.
      def initialize(profile = GC.sample_profile(why: 120))
        @profile = profile
        @raw = profile.raw
        @kept = HeapSample::MetaMessage.decode(@raw[:meta_message]).fetch("kept")
        texts = @raw[:texts]
        @nodes = (@raw[:holders] || []).each_slice(10).to_a
        @steps = @nodes.map do |_, kind, name, klass, path, line, objects, folded, entries, bound|
          Step.new(texts[kind], texts[name], texts[klass], texts[path], line, objects, folded, (entries if entries < 2**32 - 1), (texts[bound] if bound > 0))
        end
      end
      def refused = @kept["refused"]
      def path(node)
        steps = [@steps[node]]
        steps.unshift(@steps[node = @nodes[node][0]]) until @nodes[node][0] == node
        steps
      end
      # [path, class of the row, bytes] of each part
      def parts
        columns = GC::SampleProfile.raw_columns
        @raw[:kept].each_slice(5).map do |row, node, _, space, _|
          [path(node), @raw[:texts][@raw[:rows][row][columns[:class]]], space]
        end
      end
      # Of those, the ones that were allocated on a line of the program
      def parts_made_on(lines)
        stack = GC::SampleProfile.raw_columns[:stack]
        stacks = @profile.to_profile.stacks
        rows = @raw[:kept].each_slice(5).map { |row,| @raw[:rows][row] }
        parts.zip(rows).filter_map do |part, row|
          frames = stacks.frame_ids(row[stack]).map { |id| stacks.frame(id) }
          part if frames.any? { |frame| frame.path == __FILE__ && lines.include?(frame.lineno) }
        end
      end
      # The paths of the samples of this class, with their bytes.
      def of(name) = parts.select { |_, klass,| klass == name }.group_by { |path,| path.map(&:name) }.transform_values { |list| list.sum(&:last) }
      def sums
        columns = GC::SampleProfile.raw_columns
        by_row = Hash.new(0.0)
        @raw[:kept].each_slice(5) { |row, _, _, space, _| by_row[row] += space }
        @raw[:rows].each_with_index.map { |row, i| [row[columns[:inuse_space]] + row[columns[:young_space]], by_row[i]] }
      end
    end
    class Badge
      attr_accessor :label
      def initialize(label) = @label = label
    end
    class Leaf; end
    class Link
      attr_accessor :following, :leaf
    end
    def leaves(count = 1000) = Array.new(count) { Leaf.new }
    # A walk that finds so many places where threads and fibers wait for ever, or the last of twenty walks. A walk may miss one:
    # a stale word on a machine stack looks like a reference, and a thread that takes an interrupt does not wait.
    def walk_that_finds_stuck(places)
      20.times do |index|
        GC.start
        why = Why.new
        return why if why.kept["stuck"].size == places || index == 19
      end
    end
  RUBY

  SAMPLED = ["--heap-sample=interval=400,malloc=4k,output=none,seed=5"]

  def assert_why(script, args: SAMPLED, env: {}, timeout: 120)
    assert_separately([env, "-W1", "--disable=gems", *args], PRELUDE + script, timeout: timeout)
  end

  def test_chains_of_constants_globals_and_locals
    assert_why(<<~'RUBY')
      module Report
        BADGES = Array.new(500) { Badge.new(leaves(3)) }
      end
      $leaves = leaves
      class Badge; @all = leaves; @@shared = {one: leaves}; end
      why = Why.new
      assert_nil why.refused
      paths = why.of("Leaf").keys
      [["(constants)", "Report::BADGES", "[] of Array", "@label of Badge", "[] of Array"],
       ["(global variables)", "$leaves", "[] of Array"],
       ["(constants)", "Badge", "@all of class Badge", "[] of Array"],
      ].each { |path| assert_include paths, path }
      assert_equal 1, paths.count { |path| path.include?("@@shared of class Badge") }, paths.inspect
      assert_empty paths.select { |path| path.last.start_with?("(not") }, "all are held"
    RUBY
  end

  # Each step of each chain leads from objects that are there to objects that are there, as ObjectSpace sees it.
  def test_each_edge_is_a_reference
    assert_why(<<~'RUBY')
      module Plant
        LIST = [leaves(200), {a: leaves(200)}, Badge.new(leaves(200)), Struct.new(:leaf).new(leaves(200)), [[[leaves(200)]]]]
      end
      names = ->(object) { object.is_a?(ObjectSpace::InternalObjectWrapper) ? nil : Object.instance_method(:class).bind_call(object).name }
      checked = 0
      Why.new.parts.each do |path, klass,|
        next unless klass == "Leaf" && path[1].name == "Plant::LIST"
        here = [Plant::LIST]
        path.drop(2).each do |step|
          here = here.flat_map { |object| ObjectSpace.reachable_objects_from(object) }.uniq(&:__id__).select { |object| names[object] == step.class || step.class.start_with?("(") }
          assert_not_empty here, path.inspect
        end
        checked += 1
      end
      assert_operator checked, :>=, 4
    RUBY
  end

  def test_parts_of_a_row_add_up_to_the_row
    assert_why(<<~'RUBY')
      KEPT = leaves(5000)
      STRINGS = Array.new(5000) { |i| "a string that malloc holds, number #{i}, and more of it" }
      garbage = nil
      20_000.times { garbage = Leaf.new }
      why = Why.new
      why.sums.each { |row, parts| assert_in_delta row, parts, row * 1e-9 + 1e-6 }
      assert_operator why.sums.sum(&:first), :>, 100_000
      unless GC::SampleProfile.stat[:malloc_missing].to_s.include?("without jemalloc")
        assert_include why.of("(malloc)").keys.map { |path| path[1] }, "STRINGS"
      end
      assert_operator why.of("Leaf").sum { |path, space| path == ["(not reached)"] ? space : 0 }, :>, 40_000, "garbage that no mark has found yet"
    RUBY
  end

  # zlib has a struct of its own behind the struct of a Deflate, and behind it a window and tables.
  def test_what_c_code_has_belongs_to_the_object_that_leads_there
    assert_why(<<~'RUBY', args: ["--heap-sample=interval=400,malloc=1k,output=none,seed=5"])
      omit "malloc is not sampled" unless GC::SampleProfile.stat[:malloc] == :on
      require "zlib"
      OPEN = Array.new(40) { Zlib::Deflate.new.tap { |stream| stream << "text " * 200 } }
      ALSO = {closed: Array.new(3) { Zlib::Deflate.new.tap(&:close) }, last: Zlib::Deflate.new}
      lines = (__LINE__ - 2)..(__LINE__ - 1)
      why = Why.new
      assert_nil why.refused
      by_root = Hash.new(0.0)
      # Of these lines alone: zlib does not clear its memory, and an address that was there before may lead to a block of the VM.
      why.parts_made_on(lines).each { |path, klass, space| by_root[path[1]&.name] += space if klass == "(malloc)" }
      # The window and the tables are 256 KiB; zlib's struct and Ruby's buffers are some more. Such blocks are all sampled.
      assert_include 256 * 1024..300 * 1024, by_root["OPEN"] / 40
      assert_include 256 * 1024..300 * 1024, by_root["ALSO"]
      why.sums.each { |row, parts| assert_in_delta row, parts, row * 1e-9 + 1e-6 }
    RUBY
  end

  # A converter is a struct, an array, and two transcoders with a buffer each.
  def test_each_of_many_blocks_of_c_code_has_an_object
    assert_why(<<~'RUBY', args: ["--heap-sample=interval=64k,malloc=16k,output=none,seed=5"])
      omit "malloc is not sampled" unless GC::SampleProfile.stat[:malloc] == :on
      OPEN = Array.new(20_000) { Encoding::Converter.new("Shift_JIS", "UTF-8", universal_newline: true) }
      by_root = Hash.new(0.0)
      Why.new.parts.each { |path, klass, space| by_root[path.first(2).map(&:name)] += space if klass == "(malloc)" }
      assert_operator by_root[%w[(constants) OPEN]], :>, 0.95 * by_root.values.sum - (4 << 20)
    RUBY
  end

  def test_entries_and_bounds_of_containers
    assert_why(<<~'RUBY')
      require "set"
      require "tmpdir"
      module ActiveSupport; class Duration; def initialize(seconds) = @value = seconds; end; end
      class Cache
        def initialize(items, **variables)
          @items = items
          variables.each { |name, value| instance_variable_set("@#{name}", value) }
        end
      end
      class MySet < Set; end
      def table(size) = leaves(size).to_h { |leaf| [leaf, leaf] }
      def queue(queue, size) = leaves(size).each { |leaf| queue << leaf } && queue
      ARRAY = leaves(300)
      SMALL = {leaves: leaves, more: leaves}
      LARGE = table(400)
      SET = Set.new(leaves(410))
      SUBCLASS = MySet.new(leaves(420))
      QUEUE = queue(Thread::Queue.new, 430)
      SIZED = queue(Thread::SizedQueue.new(500), 440)
      KEYS = ObjectSpace::WeakKeyMap.new.tap { |map| ARRAY.each { |leaf| map[leaf] = leaves(3) } }
      SEVERAL = [leaves(300), leaves(300)]
      MAXIMUM = Cache.new(table(450), max_size: 1000)
      TTL = Cache.new(leaves(460), cache_ttl: 60.5)
      DURATION = Cache.new(Set.new(leaves(470)), expires_in: ActiveSupport::Duration.new(60))
      UNLIMITED = Cache.new(leaves(480), max_size: nil, limit: Float::INFINITY, capacity: 0, ttl: "60", maxims: 7)
      class Cache; @limit = 500; @all = leaves(490); end
      profile = GC.sample_profile(why: true)
      file, copy = %w[entries copy].map { |name| File.join(Dir.tmpdir, "#{name}-#{$$}.pb.gz") }
      at_exit { File.delete(*[file, copy].select { |one| File.exist?(one) }) }
      profile.save(file)
      HeapSample::Profile.load(file).save(copy)
      [profile.to_profile, HeapSample::Profile.load(file), HeapSample::Profile.load(copy)].each do |one|
        edges = (1...one.holders.size).to_h { |node| [one.holders.path(node).drop(1).map(&:name), one.holders.edge(node)] }
        facts = ->(*names) { edges.fetch(names).then { |edge| [edge.entries, edge.bound] } }
        {"ARRAY" => 300, "SMALL" => 2, "LARGE" => 400, "SET" => 410, "SUBCLASS" => 420, "QUEUE" => 430, "KEYS" => 300}.each do |name, entries|
          assert_equal [entries, nil], facts[name], name
        end
        assert_equal [440, "max of Thread::SizedQueue"], facts["SIZED"]
        assert_equal [410, nil], facts["SET", "@hash of Set"]
        assert_equal [nil, nil], facts["SEVERAL", "[] of Array"]
        assert_equal [nil, nil], facts["MAXIMUM"]
        assert_equal [450, "@max_size of Cache"], facts["MAXIMUM", "@items of Cache"]
        assert_equal [460, "@cache_ttl of Cache"], facts["TTL", "@items of Cache"]
        assert_equal [470, "@expires_in of Cache"], facts["DURATION", "@items of Cache"]
        assert_equal [480, nil], facts["UNLIMITED", "@items of Cache"]
        assert_equal [490, "@limit of class Cache"], facts["Cache", "@all of class Cache"]
      end
    RUBY
  end

  # Allocators of libraries put a header in front of a block, and lists lead to structs in its middle.
  def test_an_address_inside_of_a_block_leads_to_it
    assert_why(<<~'RUBY', args: ["--heap-sample=interval=4k,malloc=4k,output=none,seed=5"])
      omit "malloc is not sampled" unless GC::SampleProfile.stat[:malloc] == :on
      require "-test-/heap_sampler_holders"
      C = Bug::HeapSamplerHolders
      held = -> { Why.new.parts.sum { |path, klass, space| klass == "(malloc)" && path.map(&:name)[1] == "KEPT" ? space : 0 } }
      KEPT = []
      C.lose(300)
      [8, 4096, 8184].each do |offset|
        KEPT.replace([C.document(false, offset)])
        assert_operator held[], :>, 300 * 8192 * 0.7, offset.to_s
      end
      # Thousands of addresses inside of a few blocks lead to these once, or no time would be left for what lies behind them.
      GC::SampleProfile.stop
      C.allocate_crowd
      GC::SampleProfile.start(interval: 4096, malloc: 4096)
      C.lose(300)
      KEPT.replace([C.crowd])
      assert_operator held[], :>, 300 * 8192 * 0.7
    RUBY
  end

  # Memory that is used again has the addresses of lost blocks. What is on the stack for a moment does not own such a block.
  def test_a_block_that_c_code_has_lost_belongs_to_no_younger_object
    assert_why(<<~'RUBY', args: ["--heap-sample=interval=4k,malloc=4k,output=none,seed=5"])
      omit "malloc is not sampled" unless GC::SampleProfile.stat[:malloc] == :on
      require "-test-/heap_sampler_holders"
      C = Bug::HeapSamplerHolders
      LOST = 300 * 8192
      class Parser
        # What has the blocks, while a document of this kind is a local variable, a part of one, or what else the block makes of it.
        def look(protected)
          document = C.document(protected, 0)
          document = yield document if block_given?
          why = Why.new
          columns = GC::SampleProfile.raw_columns
          sums = Hash.new(0.0)
          why.raw[:kept].each_slice(5) do |row, node, _, space,|
            sums[why.path(node).map(&:name)] += space if why.raw[:texts][why.raw[:rows][row][columns[:label_set]]] == "lost=yes"
          end
          way, space = sums.max_by(&:last)
          way if space > LOST * 0.7 && space < LOST * 1.3
        end
      end
      def majors(count) = count.times { GC.start }
      wrapped = ->(document) { Badge.new(document) }
      at_once = ->(document) { majors(4) && document }
      GC::SampleProfile.with_labels(lost: "yes") { C.lose(300) }
      assert_equal "local document of Parser#look", Parser.new.look(false).last, "the blocks are as young as the document"
      majors(5)
      assert_equal ["(not reached)"], Parser.new.look(false)
      assert_equal ["(not reached)"], Parser.new.look(true)
      assert_equal ["(not reached)"], Parser.new.look(false, &wrapped)
      assert_equal ["(not reached)"], Parser.new.look(false, &at_once), "its age is not known"
      assert_equal "local document of Parser#look", Parser.new.look(true, &at_once).last, "it is old"
      assert_equal ["local document of Parser#look", "@label of Badge"], Parser.new.look(false) { |document| wrapped[document].tap { majors(4) } }.last(2)
      assert_equal [":document of the main thread"], Parser.new.look(false) { |document| Thread.current[:document] = document and nil }.last(1)
      KEPT = []
      assert_equal ["(constants)", "KEPT", "[] of Array"], Parser.new.look(false) { |document| KEPT << document }
    RUBY
  end

  def test_a_long_list_is_one_step
    assert_why(<<~'RUBY', args: ["--heap-sample=interval=64k,malloc=off,output=none,seed=5"])
      head = nil
      500_000.times { link = Link.new; link.following = head; head = link }
      LIST = head
      tree = ->(depth) { depth.zero? ? leaves(1) : [{deeper: tree[depth - 1]}] }
      TREE = Array.new(200) { tree[100] }
      why = Why.new
      assert_nil why.refused
      paths = why.parts.select { |_, klass,| klass == "Link" }.map(&:first).uniq
      assert_operator paths.size, :<=, 2, "the first, and all others"
      assert_operator paths.map { |path| path.last.folded }.max, :>, 400_000
      deepest = why.parts.select { |path,| path[1].name == "TREE" }.map { |path,| path.size }.max
      assert_operator deepest, :<, 12
    RUBY
  end

  # Each is gone through once for all its children, not once for each.
  def test_a_large_array_and_a_large_hash
    assert_why(<<~'RUBY', args: ["--heap-sample=interval=4k,malloc=off,output=none,seed=5"])
      LIST = leaves(300_000)
      TABLE = Array.new(300_000) { |i| [i, Leaf.new] }.to_h
      why = Why.new
      assert_equal [["(constants)", "LIST", "[] of Array"], ["(constants)", "TABLE", "{} value of Hash"]], why.of("Leaf").keys.sort
      assert_operator why.kept["name_ns"], :<, why.kept["walk_ns"] * 5 + 1_000_000_000, why.kept.inspect
    RUBY
  end

  def test_a_constant_wins_over_a_nearer_local_and_a_cache
    assert_why(<<~'RUBY')
      module Deep
        module Deeper
          KEPT = {one: [leaves]}
        end
      end
      here = Deep::Deeper::KEPT[:one][0]
      assert_equal [["(constants)", "Deep::Deeper::KEPT", "{} value of Hash", "[] of Array", "[] of Array"]], Why.new.of("Leaf").keys
      here.clear
    RUBY
  end

  # What a C function leaves behind on the machine stack, such as the last exception, is nearer than what retains it.
  def test_a_local_wins_over_a_nearer_word_of_the_machine_stack
    assert_why(<<~'RUBY')
      class Poller
        class Failed < StandardError; end
        def poll
          raise Failed, "again", cause: @last
        rescue Failed => error
          @last = error
        end
      end
      poller = Poller.new
      300.times { poller.poll }
      paths = Why.new.of("Poller::Failed").keys
      assert_empty paths.reject { |path| path.include?("@last of Poller") }
      # Of a thread that does not ask it is the same.
      ready = Queue.new
      thread = Thread.new { inner = Poller.new; 300.times { inner.poll }; inner.instance_eval { ready << 1; sleep } }
      ready.pop
      paths = Why.new.of("Poller::Failed").keys
      assert_empty paths.reject { |path| path.include?("@last of Poller") }
      thread.kill.join
    RUBY
  end

  def test_the_process_sees_no_child
    assert_why(<<~'RUBY')
      ended = 0
      trap(:CHLD) { ended += 1 }
      waiter = Thread.new { Thread.stop; Process.wait(-1) rescue $!.class }
      Thread.pass until waiter.stop?
      waiter.run
      assert_equal Errno::ECHILD, waiter.value
      own = fork { exit! 7 }
      fds = Dir.children("/proc/self/fd").size
      10.times { assert_nil Why.new.refused }
      assert_equal [own, 7], Process.wait2(-1).then { |pid, status| [pid, status.exitstatus] }
      assert_raise(Errno::ECHILD) { Process.wait(-1) }
      assert_raise(Errno::ECHILD) { Process.wait(-1, Process::WNOHANG) }
      detached = Process.detach(fork { sleep })
      assert_nil Why.new.refused
      assert_predicate detached, :alive?
      Process.kill(:KILL, detached.pid)
      assert_equal [detached.pid, []], [detached.value.pid, Process.waitall]
      assert_equal 2, ended
      assert_equal fds, Dir.children("/proc/self/fd").size
      assert_empty Dir.glob("/proc/self/task/*/children").map { |file| File.read(file) rescue "" }.join
    RUBY
  end

  # A debugger that follows threads would take the child for one.
  def test_a_tracer_does_not_see_the_child
    omit "no strace" unless system("strace", "-V", out: File::NULL, err: File::NULL)
    Dir.mktmpdir do |dir|
      code = <<~'RUBY'
        GC::SampleProfile.start(output: "none")
        puts GC.sample_profile(why: true).raw[:holders] ? "answered" : "refused"
        puts Dir.children("/proc/self/task")
      RUBY
      out, err, = EnvUtil.invoke_ruby(["-W0", "--disable=gems", "-e", code], "", true, true, timeout: 120,
                                      precommand: %W[strace -f -q -e trace=none -e signal=none -o #{dir}/trace])
      omit "strace cannot trace here: #{err}" unless err.empty?
      answer, *own = out.split("\n")
      assert_equal "answered", answer
      assert_equal own.sort, File.read("#{dir}/trace").scan(/^\d+(?= .*exited)/).sort
    end
  end

  # Closed here means closed: the child has no copy.
  HOLDS_NO_PIPE_OPEN = <<~'RUBY'
    require "-test-/heap_sampler_holders"
    KEPT = Bug::HeapSamplerHolders.trouble("hang")
    reader, writer = IO.pipe
    asking = Thread.new { GC.sample_profile(why: 60) }
    sleep 0.01 until Dir.glob("/proc/self/task/*/children").any? { |file| (File.read(file) rescue "") != "" }
    writer.close
    assert_not_nil reader.wait_readable(20), "the child holds it open"
    assert_equal ["", true], [reader.read, asking.alive?]
    asking.kill.join
  RUBY

  def test_the_child_holds_no_pipe_open
    assert_why(HOLDS_NO_PIPE_OPEN)
  end

  # As in containers whose seccomp filter is older than the system call.
  def test_the_child_holds_no_pipe_open_where_close_range_is_forbidden
    omit "numbers of system calls" unless RUBY_PLATFORM == "x86_64-linux"
    assert_why(<<~'RUBY' + HOLDS_NO_PIPE_OPEN)
      $VERBOSE = nil
      # load the number; if it is 436, EPERM; else allow
      filter = [0x20, 0, 0, 0, 0x15, 0, 1, 436, 0x06, 0, 0, 0x50001, 0x06, 0, 0, 0x7fff0000].pack("SCCL" * 4)
      assert_equal 0, syscall(157, 38, 1, 0, 0, 0)
      program = [4, filter].pack("Sx6P")
      assert_equal 0, syscall(317, 1, 1, [program].pack("P").unpack1("J"))
      assert_raise(Errno::EPERM) { syscall(436, 1000, 1001, 0) }
    RUBY
  end

  def test_a_mark_function_that_crashes_or_hangs_is_named
    assert_why(<<~'RUBY', timeout: 240)
      require "-test-/heap_sampler_holders"
      {"segv" => :SEGV, "abort" => :ABRT, "bug" => :ABRT}.each do |how, signal|
        kept = Bug::HeapSamplerHolders.trouble(how)
        why = Why.new
        assert_match(/ended early/, why.refused)
        assert_equal "Bug::Trouble", why.kept["ended_in"]
        assert_equal Signal.list[signal.to_s], why.kept["signal"]
        assert_nil why.raw[:kept]
        Bug.module_eval { kept = nil }
      end
      GC.start
    RUBY
    assert_why(<<~'RUBY')
      require "-test-/heap_sampler_holders"
      KEPT = Bug::HeapSamplerHolders.trouble("hang")
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      walks = [1, 10].lazy.map { |deadline| Why.new(GC.sample_profile(why: deadline)) }    # a slow walk is not there in 1 s
      why = walks.find { |walk| walk.kept["ended_in"] == "Bug::Trouble" }
      assert_match(/longer than its deadline/, why&.refused)
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :<, 25        # the deadline without a setting is 30 s
    RUBY
  end

  # Other threads hold locks of malloc's when the child is made; it has a copy of the locks, and not of the threads.
  def test_a_mark_function_that_allocates_waits_for_no_lock
    omit "glibc's malloc has nothing that could be called around clone(2)" unless GC::SampleProfile.memory[:allocator].start_with?("jemalloc")
    assert_why(<<~'RUBY')
      require "-test-/heap_sampler_holders"
      KEPT = Bug::HeapSamplerHolders.trouble("malloc")
      refused = Bug::HeapSamplerHolders.while_allocating(3) { Array.new(12) { Why.new(GC.sample_profile(why: 30)).refused } }
      assert_equal [nil] * 12, refused
    RUBY
  end

  def test_timeout_ends_the_child
    assert_why(<<~'RUBY')
      require "-test-/heap_sampler_holders"
      require "timeout"
      KEPT = Bug::HeapSamplerHolders.trouble("hang")
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      assert_raise(Timeout::Error) { Timeout.timeout(1) { GC.sample_profile(why: true) } }
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :<, 25        # the deadline without a setting is 30 s
      assert_empty Dir.glob("/proc/self/task/*/children").map { |file| File.read(file) rescue "" }.join
      signals = 0
      trap(:USR1) { signals += 1 }
      sender = Thread.new { 3.times { |sent| sleep 0.1; Process.kill(:USR1, Process.pid); Thread.pass until signals > sent } }
      why = Why.new(GC.sample_profile(why: 1))
      assert_match(/deadline/, why.refused, "a signal with a handler does not end it")
      sender.join
      assert_equal 3, signals
    RUBY
  end

  def test_one_at_a_time
    assert_why(<<~'RUBY')
      require "-test-/heap_sampler_holders"
      GC.disable        # a GC of the forked worker would call the mark function that hangs
      KEPT = Bug::HeapSamplerHolders.trouble("hang")
      first = Thread.new { Why.new(GC.sample_profile(why: 60)) }
      sleep 0.01 until Dir.glob("/proc/self/task/*/children").any? { |file| (File.read(file) rescue "") != "" }
      assert_match(/another heap walk is running/, Why.new.refused)
      pid = fork { exit!(Why.new(GC.sample_profile(why: 1)).refused.match?(/deadline|early/) ? 0 : 1) }
      assert_equal 0, Process.wait2(pid).last.exitstatus, "a forked worker may ask for itself"
      assert_predicate first, :alive?
      first.kill.join
    RUBY
  end

  def test_while_gc_marks_in_steps_and_after_it_moved_objects
    assert_why(<<~'RUBY')
      module Plant; KEPT = {one: leaves(5000)}; end
      path = ["(constants)", "Plant::KEPT", "{} value of Hash", "[] of Array"]
      look = lambda do |message|
        why = Why.new
        assert_nil why.refused, message
        assert_equal [path], why.of("Leaf").keys, message
      end
      GC.start(full_mark: true, immediate_mark: false, immediate_sweep: false)
      look["marking"]
      GC.start
      GC.start(full_mark: true, immediate_sweep: false)
      look["sweeping"]
      GC.compact
      look["compacted"]
      GC.auto_compact = true
      GC.start(full_mark: true, immediate_sweep: false)
      look["compacting"]
      GC.start
      GC.verify_internal_consistency if GC.respond_to?(:verify_internal_consistency)
      look["at the end"]
    RUBY
  end

  def test_with_yjit
    omit "no YJIT" unless defined?(RubyVM::YJIT)
    assert_why(<<~'RUBY', args: ["--yjit", "--yjit-call-threshold=2", *SAMPLED])
      module Plant; KEPT = {one: leaves(5000)}; end
      200.times { |i| Badge.new(i).label }
      why = Why.new
      assert_nil why.refused
      assert_equal [["(constants)", "Plant::KEPT", "{} value of Hash", "[] of Array"]], why.of("Leaf").keys
      why.sums.each { |row, parts| assert_in_delta row, parts, row * 1e-9 + 1e-6 }
    RUBY
  end

  def test_with_ractors
    assert_why(<<~'RUBY', args: ["-W0", *SAMPLED])
      module Plant; KEPT = {one: leaves(5000)}; end
      ractors = Array.new(3) { Ractor.new { kept = Array.new(1000) { Leaf.new }; Ractor.yield(:ready); Ractor.receive; kept } }
      busy = Ractor.new { Ractor.yield(:ready); loop { Array.new(100) { Object.new } } }
      [*ractors, busy].each(&:take)
      5.times do
        why = Why.new
        assert_nil why.refused
        paths = why.of("Leaf").keys
        assert_include paths, ["(constants)", "Plant::KEPT", "{} value of Hash", "[] of Array"]
        assert_not_empty paths.select { |path| path[0] == "(threads)" }
      end
      ractors.each { |ractor| ractor.send(1) }
    RUBY
  end

  def test_what_would_be_freed
    assert_why(<<~'RUBY')
      module Plant
        ALONE = [leaves(20_000)]
        SHARED = {one: leaves(20_000)}
        ALSO = [SHARED[:one]]
      end
      why = Why.new
      freed = why.kept["freed"].to_h { |one| [one["chain"].last, one] }
      size = GC.stat_heap(0, :slot_size)
      alone = freed.fetch("Plant::ALONE")
      assert_equal ["(constants)", "Plant::ALONE"], alone["chain"]
      assert_operator (alone["space"] - 20_000 * size).abs, :<=, 4 * Math.sqrt(alone["var"]) + 20_000 * 8 * 2, alone.inspect
      shared = freed["Plant::SHARED"] || freed["Plant::ALSO"]
      assert_operator shared["space"], :<, 100_000, "what two hold is freed by neither"
    RUBY
  end

  # The table of finalizers is a root, but an entry goes when its object is freed. What refers to its object keeps that for ever.
  def test_what_a_finalizer_keeps_is_kept_by_its_object
    assert_why(<<~'RUBY')
      class Upload
        def self.remover(leaves) = proc { leaves.size }
        def initialize(leaves) = ObjectSpace.define_finalizer(self, Upload.remover(leaves))
      end
      class Immortal
        def initialize(leaves) = ObjectSpace.define_finalizer(self, proc { leaves.size })
      end
      class Pair
        def initialize(other) = ObjectSpace.define_finalizer(self, Upload.remover([other]))
      end
      $VERBOSE = nil            # or Ruby warns of finalizers that refer to their object
      # In other stacks, of which nothing is left.
      def deep(n = 50, &work) = n.zero? ? work.call : deep(n - 1, &work)
      Thread.new { deep {
        UPLOADS = Array.new(20) { Upload.new(leaves) }
        CHAINS = Array.new(20) { Pair.new(Pair.new(Upload.new(leaves))) }
        IMMORTALS = Array.new(20) { Immortal.new(leaves) }
        PAIRS = Array.new(20) { a = Object.new; b = Pair.new(a); ObjectSpace.define_finalizer(a, Upload.remover([b, *leaves])); b }
      } }.join
      size = GC.stat_heap(0, :slot_size)
      why = Why.new
      chains = why.of("Leaf")
      assert_in_delta 20_000 * size, chains.select { |names,| names[1..3] == ["UPLOADS", "[] of Array", "finalizer of Upload"] && names.include?("local leaves of Upload.remover") }.sum(&:last), 250_000, chains.inspect
      assert_equal [], chains.keys.select { |names| names.first == "(finalizers)" }
      freed = why.kept["freed"].to_h { |one| [one["chain"].last, one["space"]] }
      assert_in_delta 20_000 * size, freed["UPLOADS"], 250_000, freed.inspect
      assert_in_delta 20_000 * size, freed["CHAINS"], 250_000, freed.inspect
      %w[IMMORTALS PAIRS].each { |name| assert_operator freed[name] || 0, :<, 50_000, freed.inspect }
      [UPLOADS, CHAINS, IMMORTALS, PAIRS].each(&:clear)
      6.times { GC.start }
      assert_in_delta 40_000, ObjectSpace.each_object(Leaf).count, 2100
      chains = Why.new.of("Leaf")
      assert_equal ["(finalizers)"], chains.select { |_, space| space > 50_000 }.keys.map(&:first).uniq, chains.inspect
    RUBY
  end

  # The VM's table has the names of those that live.
  def test_names_of_symbols_that_were_made_from_strings
    assert_why(<<~'RUBY')
      SYMBOLS = Array.new(20_000) { |i| "a symbol, number #{i}, which is made while the program runs".to_sym }
      GC.start
      why = Why.new
      assert_equal [["(constants)", "SYMBOLS", "[] of Array"]], why.of("Symbol").keys
      names = why.of("String").select { |_, space| space > 500_000 }
      assert_equal [["(constants)", "SYMBOLS", "[] of Array"]], names.keys.map { |way| way.first(3) }, names.inspect
      freed = why.kept["freed"].find { |one| one["chain"].last == "SYMBOLS" }
      slots = GC.stat_heap.values.map { |heap| heap[:slot_size] }
      text = slots.find { |size| size >= 24 + SYMBOLS[10_000].size + 1 + GC::INTERNAL_CONSTANTS[:RVALUE_OVERHEAD] }
      assert_in_delta 20_000 * (slots.first + text), freed["space"], 400_000
    RUBY
  end

  # Code that has used the constant has its value in a cache; without the constant it would not.
  # TOPLEVEL_BINDING leads to it first, and would free nothing: the main thread has the variable, too.
  def test_what_would_be_freed_of_a_local
    assert_why(<<~'RUBY')
      badge = Badge.new(nil)
      Thread.new { badge.label = leaves(20_000) }.join # no word of the list stays behind on this thread's machine stack
      freed = Why.new.kept["freed"].to_h { |one| [one["chain"].last, one] }
      local = freed.find { |name,| name.start_with?("local badge") } or flunk(freed.keys.inspect)
      assert_operator local.last["space"], :>, 20_000 * 30, local.inspect
      assert_equal ["-", 0], local.last.values_at("path", "line"), "of the main program as a whole: its variables are in the heap"
      assert_not_include freed.keys, "TOPLEVEL_BINDING"
      badge.label.clear
    RUBY
  end

  def test_what_would_be_freed_has_the_line_of_its_code
    assert_why(<<~'RUBY')
      def work(badge, queue)
        badge.label = leaves(20_000)
        queue.pop; line = __LINE__
        line
      end
      QUEUE = Queue.new
      thread = Thread.new { work(Badge.new(nil), QUEUE) }
      Thread.pass until thread.stop?
      local = Why.new.kept["freed"].find { |one| one["chain"].last == "local badge of Object#work" }
      QUEUE << 1
      assert_equal ["-", thread.value], local.values_at("path", "line")
    RUBY
  end

  def test_what_would_be_freed_of_a_constant_that_code_uses
    [[], %w[--yjit --yjit-call-threshold=2]].each do |args|
      next if args.any? && !defined?(RubyVM::YJIT)
      assert_why(<<~'RUBY', args: args + SAMPLED)
        module Plant
          LIST = leaves(20_000)
          def self.size = LIST.size
        end
        10.times { Plant.size }
        freed = Why.new.kept["freed"].find { |one| one["chain"].last == "Plant::LIST" }
        assert_in_delta 20_000 * GC.stat_heap(0, :slot_size), freed["space"], 400_000
      RUBY
    end
  end

  def test_threads_that_can_never_wake
    assert_why(<<~'RUBY', timeout: 60)
      require "monitor"
      require "timeout"
      Timeout.timeout(5) { }
      KEPT = Queue.new
      workers = Array.new(2) { Thread.new { KEPT.pop } }
      workers.clear
      queues = []
      Thread.new { leaves(2000).tap { |kept| Queue.new.pop; kept.size } }; lost = __LINE__
      3.times { Thread.new { lock = Mutex.new; condition = ConditionVariable.new; kept = leaves(1000); lock.synchronize { condition.wait(lock) }; kept.size } }; lost_too = __LINE__
      Thread.new { Thread.new { SizedQueue.new(1).pop }.join }; joins = __LINE__
      POOL = [Thread.new { Queue.new.pop }]
      Thread.new { Queue.new.pop(timeout: 100) }
      Thread.new { sleep }
      monitor = Monitor.new
      CONDITION = monitor.new_cond
      Thread.new { monitor.synchronize { CONDITION.wait } }
      # On a stack of its own, which is gone then, with all that was left on it.
      Thread.new { sleep 0.01 until Thread.list.size == 15 && Thread.list.all? { |thread| thread == Thread.current || thread.stop? } }.join
      why = walk_that_finds_stuck(4)
      stuck = why.kept["stuck"].to_h { |one| [[one["line"], one["name"]], one] }
      assert_equal [[lost, "waits for Thread::Queue"], [lost_too, "waits for Thread::ConditionVariable"], [joins, "waits for Thread::SizedQueue"], [joins, "waits for Thread"]].sort, stuck.keys.sort, stuck.inspect
      assert_equal [1, 3], [stuck[[lost, "waits for Thread::Queue"]]["threads"], stuck[[lost_too, "waits for Thread::ConditionVariable"]]["threads"]]
      assert_operator stuck[[lost, "waits for Thread::Queue"]]["space"], :>, 50_000
      assert_operator stuck[[lost_too, "waits for Thread::ConditionVariable"]]["space"], :>, 80_000
    RUBY
  end

  # In monitor.rb all such threads of a program would be listed as one.
  def test_a_wait_in_ruby_s_own_library_has_the_line_of_its_caller
    assert_why(<<~'RUBY', timeout: 60)
      eval("def wait(queue) = queue.pop\n", TOPLEVEL_BINDING, "/opt/lib/ruby/#{RbConfig::CONFIG["ruby_version"]}/library.rb", 7)
      eval("def wait_in_gem(queue) = queue.pop\n", TOPLEVEL_BINDING, "/opt/lib/ruby/#{RbConfig::CONFIG["ruby_version"]}/gems/a/b.rb", 8)
      def call = wait(Queue.new); line = __LINE__
      Thread.new { call }
      Thread.new { wait_in_gem(Queue.new) }
      Thread.new { sleep 0.01 until Thread.list.size == 4 && Thread.list.all? { |thread| [Thread.current, Thread.main].include?(thread) || thread.stop? } }.join
      assert_equal [["-", line], ["/opt/lib/ruby/#{RbConfig::CONFIG["ruby_version"]}/gems/a/b.rb", 8]], walk_that_finds_stuck(2).kept["stuck"].map { |one| one.values_at("path", "line") }.sort
    RUBY
  end

  # As one that runs: who refers to the Thread does not keep what it works on.
  def test_a_thread_that_waits_lives_by_itself
    assert_why(<<~'RUBY')
      WORK = Queue.new
      POOL = [Thread.new { kept = leaves(2000); WORK.pop; kept.size }]
      sleep 0.01 until POOL[0].stop?
      ways = Why.new.of("Leaf")
      assert_equal [["(threads)", "thread of Ractor"]], ways.keys.map { |names| names.first(3).uniq.first(2) }, ways.inspect
    RUBY
  end

  # A healthy thread has locked it, and unlocks it when it ends, whether or not it knows it still.
  def test_a_mutex_that_its_owner_alone_can_unlock
    assert_why(<<~'RUBY', timeout: 60)
      def deep(n = 30, &work) = n.zero? ? work.call : deep(n - 1, &work)
      def lock_and_forget(box) = (box.pop.lock; nil)
      def scrub(n = 50) = n.zero? ? nil : (a = b = c = d = nil; scrub(n - 1))
      def owner(box) = Thread.new { lock_and_forget(box); scrub; sleep 5 }
      def waiter(box) = Thread.new { box[0].lock; $woken = true }
      def plant
        mutex = Mutex.new
        owner([mutex])
        sleep 0.1
        waiter([mutex])
        nil
      end
      deep { plant }
      scrub
      sleep 0.3
      GC.start
      assert_equal [], Why.new.kept["stuck"]
      sleep 0.1 until $woken
    RUBY
  end

  # The struct of a Mutex is private to MRI. A walk that misreads which Mutexes a thread holds runs until its deadline.
  def test_threads_that_hold_mutexes_and_wait_for_others
    assert_why(<<~'RUBY', timeout: 60)
      def settle(count)
        # In a thread of its own: Thread.list leaves references to the others on its machine stack.
        Thread.new(count + 1) { |wanted| sleep 0.01 until Thread.list.count(&:stop?) == wanted }.join
      end
      GATE = Queue.new
      HELD = Array.new(3) { Mutex.new }
      holder = Thread.new { HELD.each(&:lock); GATE.pop; HELD.each(&:unlock) }
      settle(1)
      waiters = HELD.map { |mutex| Thread.new { mutex.synchronize { true } } }
      settle(4)
      # Two that wait for each other, and no other thread has a reference to either.
      def embrace
        pair = Array.new(2) { Mutex.new }
        inside = Queue.new
        both = [pair, pair.reverse].each { |mine, other| Thread.new { mine.synchronize { inside << 1; Thread.pass until inside.size == 2; other.lock } } }
        both.clear
        nil
      end
      Thread.new { embrace }.join
      settle(6)
      why = walk_that_finds_stuck(1)
      assert_nil why.refused
      assert_equal [["waits for Thread::Mutex", 2]], why.kept["stuck"].map { |one| one.values_at("name", "threads") }
      GATE << 1
      assert_equal [true] * 3, waiters.map(&:value)
      holder.join
    RUBY
  end

  # A scheduler has all of its fibers. Only fibers are listed that wait for what no other object has, and that only the scheduler refers to.
  def test_fibers_of_a_scheduler_that_can_never_wake
    scheduler = File.join(__dir__, "../fiber/scheduler.rb")
    omit "no scheduler of MRI's tests" unless File.exist?(scheduler)
    assert_why(<<~'RUBY', args: ["-r", scheduler, *SAMPLED], timeout: 60)
      SERVED = Queue.new
      LOCK = Mutex.new
      resumed = []
      Thread.new do
        Fiber.set_scheduler(Scheduler.new)
        3.times { Fiber.schedule { kept = leaves(1000); Queue.new.pop; kept.size } }; lost = __LINE__
        Fiber.schedule { kept = leaves(1000); SizedQueue.new(1).tap { |full| full << 1; full << 2 }; kept.size }; full = __LINE__
        a, b = Queue.new, Queue.new
        [[a, b], [b, a]].each { |one, other| Fiber.schedule { one.pop; other << 1 } }
        a = b = nil
        # And those who may wake:
        2.times { Fiber.schedule { SERVED.pop } }
        Fiber.schedule { Queue.new.pop(timeout: 100) }
        Fiber.schedule { sleep }
        Fiber.schedule { LOCK.lock; sleep 100 }
        Fiber.schedule { LOCK.lock }
        Fiber.schedule { fiber = Fiber.current; resumed << -> { fiber.raise("enough") }; Queue.new.pop }
        Thread.current[:lines] = [lost, full]
      end.tap { |thread| sleep 0.1 until thread[:lines]; LINES = thread[:lines] }
      why = walk_that_finds_stuck(3)
      stuck = why.kept["stuck"].map { |one| one.values_at("name", "line", "threads") }.sort
      pair = LINES[1] + 2
      assert_equal [["fiber waits for Thread::Queue", LINES[0], 3], ["fiber waits for Thread::SizedQueue", LINES[1], 1]], stuck.reject { |_, line,| line == pair }
      # What they wait for is in the block around them, of which the scheduler's thread has the variables no more.
      assert_equal [["fiber waits for Thread::Queue", pair, 2]], stuck.select { |_, line,| line == pair }
      paths = why.of("Leaf").select { |path,| path.first == "(threads that can never wake)" }
      assert_operator paths.sum { |_, bytes| bytes }, :>, 80_000
      assert_equal [[]], why.of("Leaf").keys.map { |path| path.grep(/not reached/) }.uniq
      assert_equal 1, resumed.size
    RUBY
  end

  # A fiber that cannot be resumed is garbage, and a fiber with a reference is retained by it: neither waits.
  def test_plain_fibers_are_not_reported
    assert_why(<<~'RUBY', timeout: 60)
      KEPT = Array.new(3) { Fiber.new { Fiber.yield leaves(100) }.tap(&:resume) }
      3.times { Fiber.new { kept = leaves(100); Fiber.yield; kept }.resume }
      GC.start
      assert_equal [], Why.new.kept["stuck"]
    RUBY
  end

  def test_refused_where_there_is_no_room_and_at_the_end
    assert_why(<<~'RUBY')
      KEPT = leaves
      limit = File.read("/proc/self/statm").to_i * 4096 + 60_000_000
      pid = fork do
        Process.setrlimit(:AS, limit)
        exit!(Why.new.refused&.match?(/ulimit -v/) ? 0 : 1)
      end
      assert_equal 0, Process.wait2(pid).last.exitstatus
    RUBY
    script = <<~'RUBY'
      ObjectSpace.define_finalizer("x".dup, proc { $stdout.puts GC.sample_profile(why: true).raw[:meta_message][/the process is ending/] })
    RUBY
    assert_in_out_err(["--disable=gems", *SAMPLED, "-e", script], "", /the process is ending/, [])
  end

  # The thread at whose safe point the child was made may end long before the child.
  def test_the_thread_that_made_the_child_ends
    Dir.mktmpdir do |dir|
      assert_separately([{"DIR" => dir}, "-W1", "--disable=gems", "--heap-sample=interval=64k,every=1,diagnose=50%,quiet,output=#{dir}/x-%t.pb"], PRELUDE + <<~'RUBY', timeout: 120)
        require "json"
        KEPT = Array.new(50_000) { [Leaf.new] }
        # In a GC that takes long, and on a busy machine: the stop of a large heap is estimated longer there.
        late = /did not reach a safe point in time|would stop the program for more than/
        kept = Hash.new { |known, file| known[file] = GC::SampleProfile.load(file).meta["kept"] }
        refused = -> { Dir.glob(ENV["DIR"] + "/*.pb").sort.filter_map { |file| kept[file] }.map { |kept| JSON.generate(kept["refused"]) }.grep_v(late) }
        grown = 0
        until (found = refused[]).size >= 2
          # Growth leads to the next walk: so much that a walk is due until one is made.
          KEPT.concat(Array.new(500_000) { [Leaf.new] }) && grown = found.size if found.size > grown
          10.times { Thread.new { 100.times { Object.new }; sleep 0.01 }.join }
        end
        assert_equal ["null"] * 2, found.first(2)
      RUBY
    end
  end

  # Where little of a machine stack is left a profile is refused as Ruby refuses a call, before anything is locked.
  def test_at_the_end_of_a_machine_stack
    assert_why(<<~'RUBY')
      require "-test-/heap_sampler_holders"
      def near_the_end(bytes, &work) = Thread.new { Bug::HeapSamplerHolders.with_stack(bytes, &work) }.value
      def outcome
        yield
        :done
      rescue SystemStackError
        SystemStackError
      end
      GC.sample_profile(why: true).raw
      calls = {
        profile: -> { GC.sample_profile },
        why: -> { GC.sample_profile(why: true) },
        memory: -> { GC::SampleProfile.memory },
        start: -> { GC::SampleProfile.start(interval: 400, output: "none") },
        stop: -> { GC::SampleProfile.stop }
      }
      results = calls.to_h do |name, call|
        [name, (24..80).step(4).to_h do |kib|
          [kib, near_the_end(kib << 10) { outcome(&call) }]
        end]
      end
      results.each do |name, result|
        assert_equal [], result.values.uniq - [:done, SystemStackError], name.to_s
        assert_equal [SystemStackError, :done], result.values_at(24, 80), name.to_s
        assert_equal [SystemStackError, :done], result.values.chunk_while(&:equal?).map(&:first), name.to_s
      end
      GC::SampleProfile.start(interval: 400, output: "none")
      assert_nil Why.new.refused
    RUBY
  end

  def test_a_share_pays_for_walks_of_periodic_profiles
    Dir.mktmpdir do |dir|
      assert_separately([{"DIR" => dir}, "-W1", "--disable=gems", "--heap-sample=interval=400,every=1,diagnose=50%,quiet,output=#{dir}/x-%t.pb"], PRELUDE + <<~'RUBY', timeout: 240)
        KEPT = leaves
        kept = -> { Dir.glob(ENV["DIR"] + "/*.pb").count { |file| GC::SampleProfile.load(file).holders } }
        # There is a second walk only of a heap that has grown.
        grown = []
        600.times { sleep 0.2; grown << "more " * 300_000 if grown.size < 200; break if kept[] >= 2 }
        assert_operator kept[], :>=, 2
      RUBY
    end
  end

  # The first profiles that a process with so many MiB of strings writes by itself: does each show what retains memory, or why
  # not, and when was it written?
  def walks_by_itself(mib, count, setup)
    Dir.mktmpdir do |dir|
      script = <<~RUBY
        #{setup}
        KEPT = Array.new(#{mib}) { "x" * (1 << 20) }
        GC::SampleProfile.start(interval: "64k", every: 1, diagnose: "50%", output: "#{dir}/x-%t.pb")
        files = -> { Dir.glob("#{dir}/*.pb").sort.first(#{count}) }
        sleep 0.1 until files[].size == #{count}
        p files[].map { |file| GC::SampleProfile.load(file).meta.key?("kept") }
        p files[].map { |file| File.mtime(file).to_f }
      RUBY
      out, err, status = EnvUtil.invoke_ruby(["-W0", "--disable=gems", "-e", script], "", true, true, timeout: 120)
      assert_predicate status, :success?, err
      return out.lines.map { |line| eval(line) }
    end
  end

  # A walk that gave no answer has taken its time all the same. (It is ended here: its deadline is half a minute.)
  def test_a_walk_that_hangs_is_not_made_again_at_once
    asked, times = walks_by_itself(1, 2, <<~'RUBY')
      require "-test-/heap_sampler_holders"
      HANGS = Bug::HeapSamplerHolders.trouble("hang")
      Thread.new do
        sleep 0.01 until (walker = Dir.glob("/proc/self/task/*/children").map { |file| (File.read(file) rescue "").to_i }.max) > 0
        sleep 4
        Process.kill(:KILL, walker)
      end
    RUBY
    assert_equal [true, false], asked
    assert_operator times[1] - times[0], :<, 15
  end
end
