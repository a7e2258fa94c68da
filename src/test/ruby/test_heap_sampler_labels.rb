# frozen_string_literal: false
require 'test/unit'
require 'rbconfig'

# Labels: what a fiber's are, who inherits them, what samples of slots and of malloc have, and how they end.
class TestHeapSamplerLabels < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    SP = GC::SampleProfile
    def stat(name) = SP.stat.fetch(name)
    # Objects in use by labels: every object is a sample.
    def inuse(profile = GC.sample_profile(full_gc: true), &wanted)
      rows = profile.rows.select { |row| row.inuse.samples > 0 && (wanted.nil? || wanted[row]) }
      rows.group_by(&:labels).transform_values { |some| some.sum { |row| row.inuse.objects }.round }
    end
    class Kept; end
    def kept = inuse { |row| row.class_name == "Kept" }
  RUBY

  def assert_labels(script, settings = "interval=1,max-samples=none,malloc=off", args: [], timeout: 180, **options)
    assert_separately(["-W1", "--disable=gems", "--heap-sample=output=none,#{settings}", *args], PRELUDE + script,
                      timeout: timeout, **options)
  end

  def test_a_block_its_nesting_and_its_end
    assert_labels(<<~'RUBY')
      all = []
      assert_equal({}, SP.labels)
      result = SP.with_labels(controller: "orders", "tenant" => :acme, shard: 7) do
        all << Kept.new
        SP.with_labels(action: "show", tenant: "umbrella") do
          all << Kept.new << Kept.new
          assert_equal({action: "show", controller: "orders", shard: "7", tenant: "umbrella"}, SP.labels)
        end
        SP.with_labels(tenant: nil) { assert_equal({controller: "orders", shard: "7"}, SP.labels) }
        assert_equal({controller: "orders", shard: "7", tenant: "acme"}, SP.labels)
        :result
      end
      assert_equal :result, result
      assert_equal({}, SP.labels)
      all << Kept.new
      assert_equal({
        {"controller" => "orders", "shard" => "7", "tenant" => "acme"} => 1,
        {"action" => "show", "controller" => "orders", "shard" => "7", "tenant" => "umbrella"} => 2,
        {} => 1,
      }, kept)
    RUBY
  end

  def test_set_labels
    assert_labels(<<~'RUBY')
      assert_nil SP.set_labels(controller: "a")
      SP.set_labels(action: "b")
      one = Kept.new
      assert_equal({action: "b", controller: "a"}, SP.labels)
      SP.with_labels(action: "c") { SP.set_labels(action: "d") }
      assert_equal({action: "b", controller: "a"}, SP.labels)
      SP.set_labels(action: nil, controller: nil)
      assert_equal({}, SP.labels)
      assert_equal({{"action" => "b", "controller" => "a"} => 1}, kept)
    RUBY
  end

  def test_ways_out_of_a_block
    assert_labels(<<~'RUBY')
      assert_raise(RuntimeError) { SP.with_labels(a: 1) { SP.with_labels(b: 2) { raise "out" } } }
      assert_equal({}, SP.labels)
      catch(:out) { SP.with_labels(a: 1) { throw :out } }
      assert_equal({}, SP.labels)
      def leave = SP.with_labels(a: 1) { return 5 }
      assert_equal 5, leave
      [1].each { SP.with_labels(a: 1) { break } }
      assert_equal({}, SP.labels)
      thread = Thread.new { SP.with_labels(a: 1) { sleep } }
      Thread.pass until thread.stop?
      thread.kill.join
      assert_equal({}, SP.labels)
    RUBY
  end

  def test_what_a_label_may_be
    assert_labels(<<~'RUBY')
      assert_raise(LocalJumpError) { SP.with_labels(a: 1) }
      assert_raise_with_message(TypeError, /value of a label must be a String, a Symbol or an Integer, not Object/) { SP.set_labels(a: Object.new) }
      assert_raise_with_message(ArgumentError, /name of a label must have 1 to 64 bytes/) { SP.set_labels("": 1) }
      assert_raise_with_message(ArgumentError, /1 to 64 bytes/) { SP.set_labels("k" * 65 => 1) }
      assert_raise_with_message(ArgumentError, /must not contain = or a control character/) { SP.set_labels("a=b": 1) }
      assert_raise_with_message(ArgumentError, /the label name class is reserved/) { SP.set_labels(class: "x") }
      assert_raise_with_message(ArgumentError, /use at most 8/) { SP.set_labels(**(1..9).to_h { |i| [:"k#{i}", i] }) }
      assert_equal({}, SP.labels)
      SP.set_labels(**(1..8).to_h { |i| [:"#{"k" * 63}#{i}", "v" * 200] })
      assert_equal [8, "v" * 128], SP.labels.then { |labels| [labels.size, labels.values.uniq.first] }
      SP.set_labels(**SP.labels.transform_values { nil })
      SP.set_labels(a: "x\ny=z", b: "é" * 100, c: "")
      assert_equal({a: "x y=z", b: "é" * 64}, SP.labels)
      kept_object = Kept.new
      assert_equal [{"a" => "x y=z", "b" => "é" * 64}], kept.keys
    RUBY
  end

  def test_fibers_and_enumerators
    assert_labels(<<~'RUBY')
      outer = inner = nil
      SP.with_labels(a: 1) do
        inner = Fiber.new { [SP.labels, Fiber.yield, SP.labels].tap { SP.set_labels(b: 2) } }
        inner.resume
      end
      assert_equal({}, SP.labels)
      assert_equal [{a: "1"}, nil, {a: "1"}], inner.resume
      assert_equal({}, SP.labels)
      all = []
      external = SP.with_labels(job: "each") { Enumerator.new { |y| 3.times { all << Kept.new; y << SP.labels } }.tap(&:next) }
      SP.with_labels(job: "other") { assert_equal({job: "each"}, external.next) }
      # Labels in a fiber are that fiber's.
      fiber = Fiber.new { SP.with_labels(f: 1) { Fiber.yield; all << Kept.new } }
      fiber.resume
      assert_equal({}, SP.labels)
      fiber.resume
      assert_equal({{"job" => "each"} => 2, {"f" => "1"} => 1}, kept)
      # A fiber that is not resumed any more retains the labels that it would return to only while it lives.
      SP.with_labels(a: 1) { Fiber.new { SP.with_labels(b: 1) { Fiber.yield } }.resume }
    RUBY
  end

  def test_threads
    assert_labels(<<~'RUBY')
      all = Queue.new
      ready = Queue.new
      threads = SP.with_labels(request: 1) do
        [Thread.new { ready.pop; all << Kept.new; SP.labels }, Thread.new { Thread.new { Fiber.new { SP.labels }.resume }.value }]
      end
      ready << 1
      assert_equal [{request: "1"}] * 2, threads.map(&:value)
      assert_equal({}, Thread.new { SP.labels }.value)
      # Each thread has its own, whichever runs.
      4.times.map do |i|
        Thread.new { 200.times { SP.with_labels(thread_number: i) { Thread.pass; all << Kept.new if SP.labels == {thread_number: i.to_s} } } }
      end.each(&:join)
      assert_equal({{"request" => "1"} => 1, **4.times.to_h { |i| [{"thread_number" => i.to_s}, 200] }}, kept)
    RUBY
  end

  def test_ractors
    assert_labels(<<~'RUBY', args: ["-W0"])
      ractors = SP.with_labels(request: 1) do
        2.times.map { |i| Ractor.new(i) { |n| [GC::SampleProfile.labels, GC::SampleProfile.with_labels(ractor: n) { [GC::SampleProfile.labels, Kept.new] }, GC::SampleProfile.labels] } }
      end
      values = ractors.map(&:take)
      assert_equal({}, SP.labels)
      values.each_with_index do |(before, (within, _), after), n|
        assert_equal [{request: "1"}, {ractor: n.to_s, request: "1"}, {request: "1"}], [before, within, after]
      end
      many = 3.times.map { |n| Ractor.new(n) { |i| 1500.times { |k| GC::SampleProfile.with_labels(r: "#{i}-#{k}") { Kept.new } } && GC::SampleProfile.labels } }
      assert_equal [{}] * 3, many.map(&:take)
    RUBY
  end

  def test_malloc
    omit "no jemalloc with a profiler" unless IO.popen([RbConfig.ruby, "--disable=gems", "--heap-sample=output=none", "-e", "print GC::SampleProfile.stat[:malloc]"], &:read) == "on"
    assert_labels(<<~'RUBY', "malloc=4k")
      all = []
      def text = "x" * 100_000
      %w[a b].each_with_index { |name, i| SP.with_labels(tenant: name) { (10 * (i + 1)).times { all << text } } }
      all << text
      profile = GC.sample_profile
      malloc = profile.rows.select(&:malloc?)
      sums = malloc.select { |row| row.stack.any? { |frame| frame.label.include?("text") } }.group_by(&:labels)
                   .transform_values { |rows| (rows.sum { |row| row.inuse.space } / 102_400).round }
      assert_equal({{"tenant" => "a"} => 10, {"tenant" => "b"} => 20, {} => 1}, sums)
      # Frees count for the labels that allocated, as allocations do.
      all.clear
      GC.start
      freed = GC.sample_profile(full_gc: true).rows.select { |row| row.malloc? && row.labels == {"tenant" => "b"} }
      assert_in_delta 20, freed.sum { |row| row.freed.space } / 102_400, 0.7
      assert_in_delta 20, freed.sum { |row| row.alloc.space } / 102_400, 0.7
    RUBY
  end

  def test_two_thousand_sets
    assert_labels(<<~'RUBY')
      all = 2000.times.map { |i| SP.with_labels(request: i) { [Kept.new, SP.labels] } }
      assert_equal 1024, stat(:label_sets)
      assert_equal 976, stat(:label_sets_refused)
      assert_equal({request: "0"}, all.first.last)
      assert_equal({labels: "(other)"}, all.last.last)
      counts = kept
      assert_equal 1025, counts.size
      assert_equal 976, counts.fetch({"labels" => "(other)"})
      profile = GC.sample_profile
      assert_equal 1025, profile.top(by: "label:request", value: :inuse_objects, top: 2000).entries.count { |entry| entry.key == "(other)" || entry.key =~ /\A\d+\z/ }
      # Those that there are stay, and are found again.
      all.clear
      GC.start
      SP.with_labels(request: 3) { assert_equal({request: "3"}, SP.labels) }
      SP.with_labels(request: "new") do
        assert_equal({labels: "(other)"}, SP.labels)
        SP.with_labels(request: 4) { assert_equal({request: "4"}, SP.labels) }
        assert_equal({labels: "(other)"}, SP.labels)
      end
      assert_equal 977, stat(:label_sets_refused)
      assert_equal({}, SP.labels)
    RUBY
  end

  def test_what_was_counted_as_other_is_counted
    assert_labels(<<~'RUBY', "interval=64,max-samples=none,malloc=4k")
      5000.times { |i| SP.with_labels(request: i) { Array.new(20) { "text #{i}" } } }
      rows = GC.sample_profile.rows
      other = rows.select { |row| row.labels == {"labels" => "(other)"} }
      assert_operator other.sum { |row| row.alloc.objects }, :>, 50_000
      assert_operator rows.sum { |row| row.alloc.objects }, :>, 100_000
    RUBY
  end

  def test_the_end_of_a_block_leads_back
    assert_labels(<<~'RUBY', "interval=1m,malloc=off")
      SP.with_labels(outer: 1) do
        fiber = Fiber.new { SP.with_labels(fiber: 1) { Fiber.yield; SP.labels } }
        fiber.resume
        SP.with_labels(middle: 2) do
          SP.with_labels(inner: 3) { 3000.times { |i| SP.set_labels(request: i) } }
          assert_equal({middle: "2", outer: "1"}, SP.labels)
        end
        assert_equal({outer: "1"}, SP.labels)
        assert_equal({fiber: "1", outer: "1"}, fiber.resume)
      end
      assert_equal({}, SP.labels)
    RUBY
  end

  def test_prepared_labels_are_as_those_of_a_block
    assert_labels(<<~'RUBY')
      show = SP.prepare_labels(controller: "orders", "action" => :show, shard: nil)
      other = SP.prepare_labels(action: "other")
      all = []
      3.times do
        assert_equal 5, show.with { all << Kept.new; assert_equal({action: "show", controller: "orders"}, SP.labels); 5 }
        assert_equal({}, SP.labels)
        # Each step begins at what the fiber has.
        SP.with_labels(shard: 1, tenant: "acme") do
          show.with { other.with { all << Kept.new; assert_equal({action: "other", controller: "orders", tenant: "acme"}, SP.labels) } }
          assert_equal({shard: "1", tenant: "acme"}, SP.labels)
          other.with { assert_equal({action: "other", shard: "1", tenant: "acme"}, SP.labels) }
        end
      end
      assert_raise(RuntimeError) { show.with { SP.set_labels(inner: 1); raise "out" } }
      assert_equal({}, SP.labels)
      before = show.enter
      SP.set_labels(inner: 1)
      Thread.new { all << Kept.new; assert_equal({action: "show", controller: "orders", inner: "1"}, SP.labels) }.join
      assert_nil show.leave(before)
      assert_equal({}, SP.labels)
      assert_equal({{"action" => "show", "controller" => "orders"} => 3, {"action" => "other", "controller" => "orders", "tenant" => "acme"} => 3,
                    {"action" => "show", "controller" => "orders", "inner" => "1"} => 1}, kept)
      assert_raise(ArgumentError) { SP.prepare_labels(class: "x") }
      assert_raise(TypeError) { SP.prepare_labels(a: Object.new) }
      assert_raise(TypeError) { show.leave(65_535) }
      assert_raise(TypeError) { show.leave(show) }
      assert_raise(TypeError) { show.leave(nil) }
      assert_raise(LocalJumpError) { show.with }
      assert_raise(NoMethodError) { SP::PreparedLabels.new }
      text = +"changed"
      later = SP.prepare_labels(tenant: text)
      text.replace("later")
      later.with { assert_equal({tenant: "changed"}, SP.labels) }
    RUBY
  end

  def test_prepared_labels_where_there_is_no_room
    assert_labels(<<~'RUBY')
      early = SP.prepare_labels(a: 0)
      early.with {}
      1024.times { |i| SP.with_labels(request: i) {} }
      one = SP.prepare_labels(a: 1)
      2.times { one.with { assert_equal({labels: "(other)"}, SP.labels); one.with { assert_equal({labels: "(other)"}, SP.labels) } } }
      early.with { assert_equal({a: "0"}, SP.labels) }
      assert_equal({}, SP.labels)
    RUBY
  end

  def test_a_book_of_labels
    assert_labels(<<~'RUBY')
      class One; end
      class Two < One; end
      asked = []
      book = SP.label_book { |klass, name| asked << [klass, name]; SP.prepare_labels(class_name: klass.name, action: name) unless name == "none" }
      within = lambda do |object, name|
        before = book.enter(object, name)
        SP.labels
      ensure
        book.leave(object, name, before)
      end
      3.times do
        [One, Two].each do |klass|
          ["index", "a name that is longer than eight bytes", "a name that is longer than eight bytes too", ""].each do |name|
            labels = {action: name, class_name: klass.name}.reject { |_, text| text.empty? }
            assert_equal(labels, within[klass.new, +name])
            assert_equal(labels.merge(a: "1"), SP.with_labels(a: 1) { within[klass.new, name.to_sym] })
          end
          assert_equal({}, within[klass.new, "none"])
        end
      end
      assert_equal 10, asked.uniq.size
      2.times { within[One.new, "index"] }
      before = asked.size
      2.times { within[One.new, "index"] }
      assert_equal before, asked.size
      assert_equal({}, SP.labels)
      assert_raise(RuntimeError) { begin; before = book.enter(One.new, "x"); raise "out"; ensure book.leave(One.new, "x", before) end }
      assert_equal({}, SP.labels)
      900.times { |i| assert_equal("n#{i}", within[One.new, "n#{i}"].fetch(:action)) }     # more than the book remembers
      assert_equal({action: "index", class_name: "Two"}, within[Two.new, "index"])
      GC.start
      GC.compact if GC.respond_to?(:compact)
      assert_equal({action: "index", class_name: "Two"}, within[Two.new, "index"])
      assert_raise(TypeError) { SP.label_book { 5 }.enter(One.new, "x") }
      assert_raise(ArgumentError) { SP.label_book }
      count = asked.size
      assert_same(book, book.clear)
      within[Two.new, "index"]
      assert_equal count + 1, asked.size
    RUBY
  end

  def test_ractors_share_prepared_labels
    assert_labels(<<~'RUBY', "interval=64,malloc=off", ignore_stderr: true)
      ALL = Ractor.make_shareable(50.times.map { |i| SP.prepare_labels("name" => "text #{i}") })
      assert(ALL.all? { |one| Ractor.shareable?(one) })
      wrong = 3.times.map do |n|
        Ractor.new(n) do |number|
          100.times.sum do |k|
            50.times { |i| GC::SampleProfile.with_labels(r: "#{number}-#{k}-#{i}") {} }
            ALL.each_with_index.count { |one, i| one.with { [Object.new, GC::SampleProfile.labels[:name]].last } != "text #{i}" }
          end
        end
      end.sum(&:take)
      assert_equal 0, wrong
    RUBY
  end

  def test_fork
    assert_labels(<<~'RUBY')
      read, write = IO.pipe
      all = SP.with_labels(parent: 1) do
        one = [Kept.new]
        pid = fork do
          one << SP.with_labels(child: 2) { Kept.new }
          write << Marshal.dump([SP.labels, kept])
          write.close
          exit!
        end
        Process.wait(pid)
        one
      end
      write.close
      labels, counts = Marshal.load(read)
      assert_equal({parent: "1"}, labels)
      assert_equal({{"parent" => "1"} => 1, {"child" => "2", "parent" => "1"} => 1}, counts)
      assert_equal({{"parent" => "1"} => 1}, kept)
    RUBY
  end

  # No slot is sampled: then no text is known before the texts of malloc.
  def test_malloc_alone
    omit "no jemalloc with a profiler" unless IO.popen([RbConfig.ruby, "--disable=gems", "--heap-sample=output=none", "-e", "print GC::SampleProfile.stat[:malloc]"], &:read) == "on"
    assert_labels(<<~'RUBY', "interval=1g,malloc=16k")
      require "stringio"
      profile = GC.sample_profile
      assert_equal [{}], profile.rows.map(&:labels).uniq
      file = StringIO.new("".b)
      profile.save(file)
      [file.string, profile.to_pprof].each do |bytes|
        assert_equal [], HeapSample::Profile.load(StringIO.new(bytes), name: "it").label_names
      end
    RUBY
  end

  def test_compaction
    assert_labels(<<~'RUBY')
      all = 50.times.map { |i| SP.with_labels(n: i % 5) { Kept.new } }
      GC.compact
      GC.verify_compaction_references(expand_heap: false, toward: :empty) rescue GC.compact
      assert_equal 5.times.to_h { |i| [{"n" => i.to_s}, 10] }, kept
    RUBY
  end

  # No object is kept for its name or for its value.
  def test_nothing_is_kept
    assert_labels(<<~'RUBY', "interval=64k")
      names = 20.times.map { |i| "name-#{i}-#{"x" * 40}" }
      weak = names.map { |name| require "weakref"; value = "value of #{name}"; SP.with_labels("k" => value) { WeakRef.new(value) } }
        before = ObjectSpace.count_objects[:T_DATA]
      10_000.times { SP.with_labels(a: 1) { SP.with_labels(b: 2) { } } }
      GC.start
      assert_operator ObjectSpace.count_objects[:T_DATA], :<, before + 500
      assert_operator weak.count(&:weakref_alive?), :<=, 2
    RUBY
  end

  # A file of it, and what the library reads from it.
  def test_saved
    assert_labels(<<~'RUBY')
      require "tmpdir"
      all = %w[orders users].map { |name| SP.with_labels(controller: name, action: "é\tshow") { Kept.new } }
      profile = GC.sample_profile(full_gc: true)
      Dir.mktmpdir do |dir|
        ours, again = "#{dir}/ours.pb.gz", "#{dir}/again.pb.gz"
        profile.save(ours)
        read = SP.load(ours)
        profile.to_profile.save(again)
        all = [profile.to_profile, read, SP.load(again)].map do |one|
          one.rows.map { |row| [row.class_name, row.labels, row.inuse.samples] }.sort_by(&:inspect)
        end
        assert_equal all[0], all[1]
        assert_equal all[0], all[2]
        assert_equal %w[action controller], read.label_names
        top = read.filter(class: "Kept").top(by: "label:controller")
        assert_equal %w[orders users], top.entries.map(&:key).sort
        assert_equal [%w[Kept]], [read.filter(class: "Kept", label: {controller: "orders"}).rows.map(&:class_name).uniq]
        # Read and written again, byte for byte.
        read.save(again)
        plain = [ours, again].map { |path| require "zlib"; Zlib.gunzip(File.binread(path)) }
        assert plain[0] == plain[1], "the file is not written again byte for byte"
      end
    RUBY
  end
end
