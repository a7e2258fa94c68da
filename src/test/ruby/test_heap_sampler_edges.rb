# frozen_string_literal: false
require 'test/unit'
begin
  require '-test-/heap_sampler_edges'
rescue LoadError
  # without the sampler
end

# Names of edges: what one object's reference to another is called (src/heap_sampler/heap_walk/edge.h).
class TestHeapSamplerEdges < Test::Unit::TestCase
  Edges = defined?(Bug::HeapSamplerEdges) ? Bug::HeapSamplerEdges : nil
  NAME = name

  class Badge
    def initialize(label = nil) = @label = label
    def label = @label
    def keep(repo) = -> { repo }
    def keep_self = -> { }
    def keep_two(repo, issue) = [-> { repo }, -> { issue }]
    def nested(repo) = [1].map { |one| [one].map { |two| -> { [repo, one, two] } }.first }.first
    def with_default(repo = Object.new) = binding
    def with_keyword(repo:) = binding
    def with_rest(*repos) = binding
    def with_block(&block) = binding
    def with_options(**options) = binding

    def with_local(value)
      repo = value
      binding
    end

    def each = block_given? ? yield(1) : to_enum(:each)
    def forward(...) = with_rest(...)
    attr_accessor :first, :second
  end

  class Many; end
  Point = Struct.new(:x, :label)
  Wide = Struct.new(*(1..20).map { |i| :"m#{i}" })
  Measure = Data.define(:amount, :unit)
  class Point3 < Point; end
  class List < Array; end
  class Table < Hash; end
  class Text < String; end

  class Report
    BADGES = [Object.new]
    Inner = Module.new
    class Deep
      LIST = [1].dup
    end
    @all = Object.new
    @@shared = Object.new
    class << self
      attr_reader :all

      def shared = @@shared

      def shared=(value)
        @@shared = value
      end
    end
    kept = Object.new
    define_method(:kept) { kept }
    KEPT = kept
  end

  module Mixin
    WORDS = ["a"].dup
    @table = {}
    def self.table = @table
    def mixed = 1
  end

  class Mixed
    include Mixin
    prepend Module.new
  end

  # -- the table: name => [[kind, text] of the edges of the chain, a block that plants parent and child] ------------------

  ROWS = {}

  # One edge: `kind` and `text`, from the first to the second of what the block returns.
  def self.edge(name, kind, text, &plant) = chain(name, [[kind, text]], &plant)

  # Some edges, each as "kind: text".
  def self.chain(name, edges, &plant)
    raise "twice: #{name}" if ROWS.key?(name)
    edges = edges.map { |one| one.is_a?(String) ? one.split(": ", 2).then { |kind, text| [kind.to_sym, text] } : one }
    ROWS[name] = [edges, plant]
  end

  def self.child = Object.new

  # Constants, class variables, instance variables of classes.
  edge("a constant", :constant, "#{NAME}::Report::BADGES") { [Report, Report::BADGES] }
  edge("a module as a constant", :constant, "#{NAME}::Report::Inner") { [Report, Report::Inner] }
  edge("a constant of a module", :constant, "#{NAME}::Mixin::WORDS") { [Mixin, Mixin::WORDS] }
  edge("a class as a constant of Object", :constant, "String") { [Object, String] }
  edge("a constant deep in classes", :constant, "#{NAME}::Report::Deep::LIST") { [Report::Deep, Report::Deep::LIST] }
  edge("a class variable", :cvar, "@@shared of class #{NAME}::Report") { [Report, Report.shared] }
  edge("an instance variable of a class", :ivar, "@all of class #{NAME}::Report") { [Report, Report.all] }
  edge("an instance variable of a module", :ivar, "@table of module #{NAME}::Mixin") { [Mixin, Mixin.table] }
  edge("a constant of a class without a name", :constant, "(anonymous Class < Object)::LIST") do
    klass = Class.new
    [klass, klass.const_set(:LIST, [1])]
  end
  edge("a private constant", :constant, "#{NAME}::Report::HIDDEN") do
    Report.const_set(:HIDDEN, [2]) unless Report.const_defined?(:HIDDEN)
    Report.private_constant(:HIDDEN)
    [Report, Report.send(:const_get, :HIDDEN)]
  end
  edge("a class variable that is set from outside", :cvar, "@@late of class #{NAME}::Report") do
    Report.class_variable_set(:@@late, value = child)
    [Report, value]
  end
  edge("an instance variable of a singleton class", :ivar, "@hidden of singleton class of #{NAME}::Report") do
    Report.singleton_class.instance_variable_set(:@hidden, value = child)
    [Report.singleton_class, value]
  end
  (1..12).each do |n|
    edge("variable #{n} of 12 of a class", :ivar, "@v#{n} of class (anonymous Class < Object)") do
      klass = Class.new
      values = (1..12).map { |i| klass.instance_variable_set(:"@v#{i}", child) }
      [klass, values[n - 1]]
    end
  end

  # Instance variables: in the slot, in a block of malloc, in a table; of every type.
  edge("an instance variable", :ivar, "@label of #{NAME}::Badge") { [Badge.new(value = child), value] }
  (1..20).each do |n|
    edge("variable #{n} of 20", :ivar, "@v#{n} of #{NAME}::Many") do
      many = Many.new
      values = (1..20).map { |i| many.instance_variable_set(:"@v#{i}", child) }
      [many, values[n - 1]]
    end
  end
  [1, 50, 100].each do |n|
    edge("variable #{n} of an object of too many shapes", :ivar, "@w#{n} of #{NAME}::Complex") do
      const_set(:Complex, Class.new) unless const_defined?(:Complex, false)
      complex = self::Complex.new
      12.times { |i| self::Complex.new.instance_variable_set(:"@only#{i}_#{n}", 1) }
      values = (1..100).map { |i| complex.instance_variable_set(:"@w#{i}", child) }
      [complex, values[n - 1]]
    end
  end
  edge("after one was removed", :ivar, "@c of #{NAME}::Many") do
    many = Many.new
    %i[@a @b @c].each { |id| many.instance_variable_set(id, child) }
    many.remove_instance_variable(:@b)
    [many, many.instance_variable_get(:@c)]
  end
  edge("of a frozen object", :ivar, "@label of #{NAME}::Badge") { [Badge.new(value = child).freeze, value] }
  {
    "String" => -> { "text".dup }, "Array" => -> { [] }, "Hash" => -> { {} }, "Proc" => -> { proc { } },
    "Regexp" => -> { Regexp.new("a") }, "Thread::Queue" => -> { Queue.new }, "Range" => -> { Range.allocate },
    "Enumerator" => -> { [].each.dup }, "Thread::Mutex" => -> { Mutex.new }, "Exception" => -> { Exception.new },
    "#{NAME}::Point" => -> { Point.new }, "#{NAME}::List" => -> { List.new }, "#{NAME}::Table" => -> { Table.new },
    "#{NAME}::Text" => -> { Text.new }, "Random" => -> { Random.new }, "Binding" => -> { binding },
    "Method" => -> { 1.method(:+) }, "Time" => -> { Time.now }, "IO" => -> { IO.allocate },
    "ObjectSpace::WeakMap" => -> { ObjectSpace::WeakMap.new }, "Object" => -> { Object.new },
  }.each do |name, make|
    edge("a variable of #{name}", :ivar, "@mine of #{name}") do
      object = make.call
      object.instance_variable_set(:@mine, value = child)
      [object, value]
    end
  end
  edge("one of many variables of a String", :ivar, "@v7 of String") do
    text = "text".dup
    values = (1..9).map { |i| text.instance_variable_set(:"@v#{i}", child) }
    [text, values[6]]
  end

  # Members.
  edge("a member of a Struct", :member, "label of #{NAME}::Point") { [Point.new(1, value = child), value] }
  edge("a member that the parent class names", :member, "x of #{NAME}::Point3") { [Point3.new(value = child), value] }
  edge("a member of a Data", :member, "unit of #{NAME}::Measure") { [Measure.new(1, value = child), value] }
  edge("a member of a Struct without a name", :member, "a of (anonymous Class < Struct)") do
    [Struct.new(:a).new(value = child), value]
  end
  edge("a member of a Struct with keywords", :member, "a of (anonymous Class < Struct)") do
    [Struct.new(:a, keyword_init: true).new(a: value = child), value]
  end
  (1..20).each do |n|
    edge("member #{n} of 20", :member, "m#{n} of #{NAME}::Wide") do
      wide = Wide.new
      [wide, wide[n - 1] = child]
    end
  end

  # Elements, keys, values.
  [1, 2, 3, 4, 20, 1000].each do |n|
    edge("the last of #{n} elements", :element, "[] of Array") { [[nil] * (n - 1) << (value = child), value] }
    edge("the first of #{n} elements", :element, "[] of Array") { [[value = child] + [nil] * (n - 1), value] }
    edge("one of #{n} values", :value, "{} value of Hash") do
      [(1..n).to_h { |i| [i, nil] }.tap { |hash| hash[n] = @value = child }, @value]
    end
    edge("one of #{n} keys", :key, "{} key of Hash") do
      [(1...n).to_h { |i| [i, nil] }.tap { |hash| hash[@key = child] = 1 }, @key]
    end
    edge("one of #{n} keys by identity", :key, "{} key of Hash") do
      hash = {}.compare_by_identity
      (n - 1).times { hash[child] = 1 }
      hash[key = child] = 1
      [hash, key]
    end
    edge("one of #{n} values by identity", :value, "{} value of Hash") do
      hash = {}.compare_by_identity
      (n - 1).times { hash[child] = 1 }
      hash[child] = value = child
      [hash, value]
    end
  end
  edge("an element of a subclass", :element, "[] of #{NAME}::List") { [List[value = child], value] }
  edge("a value of a subclass", :value, "{} value of #{NAME}::Table") { [Table[1, value = child], value] }
  edge("a default value", :default, "default of Hash") { [Hash.new(value = child), value] }
  edge("a default block", :default, "default block of Hash") { [hash = Hash.new { }, hash.default_proc] }
  chain("an array that shares memory",
        ["shared: shared memory of Array", "element: [] of (hidden T_ARRAY)"]) do
    all = Array.new(100) { child }
    part = all[10, 80]
    [part, part[3]]
  end
  edge("a string that shares memory", :shared, "shared memory of String") do
    text = "x" * 1000
    copy = text.freeze.dup
    [copy, text]
  end
  chain("a Set's element", ["ivar: @hash of Set", "key: {} key of Hash"]) { [Set[value = child], value] }
  chain("a value deep in arrays", ["element: [] of Array"] * 3) { [[[[value = child]]], value] }
  edge("a value of a WeakKeyMap", :value, "{} value of ObjectSpace::WeakKeyMap") do
    map = ObjectSpace::WeakKeyMap.new
    map[@weak_key = child] = value = child
    [map, value]
  end

  # Builtin objects.
  edge("a Rational's numerator", :data, "numerator of Rational") { (one = Rational(2**100, 3)).then { [one, one.numerator] } }
  edge("a Rational's denominator", :data, "denominator of Rational") { (one = Rational(2, 3**100)).then { [one, one.denominator] } }
  edge("a Complex's real part", :data, "real part of Complex") { [Complex(value = 2**100, 3), value] }
  edge("a Complex's imaginary part", :data, "imaginary part of Complex") { [Complex(1, value = 2**100), value] }
  edge("a MatchData's regexp", :data, "regexp of MatchData") { [/b+/.match("abbb"), /b+/].then { |m, _| [m, m.regexp] } }
  edge("a MatchData's string", :data, "string of MatchData") { (match = "abbb".match(/b+/)).then { [match, match.string] } }
  edge("an Exception's message", :ivar, "mesg of RuntimeError") { [RuntimeError.new(value = "message"), value] }
  edge("an Exception's cause", :ivar, "cause of RuntimeError") do
    begin
      begin
        raise "inner"
      rescue => inner
        raise "outer"
      end
    rescue => outer
      [outer, inner]
    end
  end

  # Blocks, environments, methods.
  chain("a local of a method that a block keeps",
        ["environment: locals outside of block in #{NAME}::Badge#keep", "local: local repo of #{NAME}::Badge#keep"]) do
    [Badge.new.keep(value = child), value]
  end
  edge("the self of a block", :self, "self of block in #{NAME}::Badge#keep_self") { [(badge = Badge.new).keep_self, badge] }
  chain("the second parameter",
        ["environment: locals outside of block in #{NAME}::Badge#keep_two", "local: local issue of #{NAME}::Badge#keep_two"]) do
    [Badge.new.keep_two(1, value = child)[0], value]
  end
  chain("a local two blocks out",
        ["environment: locals outside of block (3 levels) in #{NAME}::Badge#nested",
         "environment: locals outside of block (2 levels) in #{NAME}::Badge#nested",
         "environment: locals outside of block in #{NAME}::Badge#nested",
         "local: local repo of #{NAME}::Badge#nested"]) do
    [Badge.new.nested(value = child), value]
  end
  {
    "an optional parameter" => [:with_default, ->(m, v) { m.call(v) }, "repo"],
    "a keyword" => [:with_keyword, ->(m, v) { m.call(repo: v) }, "repo"],
    "a local" => [:with_local, ->(m, v) { m.call(v) }, "value"],
  }.each do |name, (method, call, variable)|
    chain("#{name} of a method whose binding is kept",
          ["environment: locals outside of #{NAME}::Badge##{method}", "local: local #{variable} of #{NAME}::Badge##{method}"]) do
      [call.call(Badge.new.method(method), value = child), value]
    end
  end
  chain("an element of the rest",
        ["environment: locals outside of #{NAME}::Badge#with_rest", "local: local repos of #{NAME}::Badge#with_rest",
         "element: [] of Array"]) { [Badge.new.with_rest(value = child), value] }
  chain("a value of the options",
        ["environment: locals outside of #{NAME}::Badge#with_options", "local: local options of #{NAME}::Badge#with_options",
         "value: {} value of Hash"]) { [Badge.new.with_options(a: value = child), value] }
  chain("a block parameter",
        ["environment: locals outside of #{NAME}::Badge#with_block", "block: block argument of #{NAME}::Badge#with_block"]) do
    block = proc { }
    [Badge.new.with_block(&block), block]
  end
  edge("the self of a binding", :self, "self of #{NAME}::Badge#with_rest") { [(badge = Badge.new).with_rest, badge] }
  edge("the receiver of a Method", :data, "receiver of Method") { [(badge = Badge.new).method(:keep), badge] }
  chain("a value that a block in C has",
        ["code: code of Bug::HeapSamplerEdges.block_in_c", "data: data of a block in C of (imemo:ifunc)"]) { [Edges.block_in_c(value = child), value] }
  # Enumerators.
  edge("the receiver of an Enumerator", :data, "receiver of Enumerator") { [(badge = Badge.new).each, badge] }
  chain("an argument of an Enumerator", ["data: arguments of Enumerator", "element: [] of Array"]) do
    [[1].to_enum(:each_slice, value = child), value]
  end
  chain("the block of Enumerator.new", ["data: receiver of Enumerator", "data: block of Enumerator::Generator"]) do
    block = proc { }
    [Enumerator.new(&block), block]
  end
  chain("an enumerable of a chain", ["data: enumerables of Enumerator::Chain", "element: [] of Array"]) do
    [Enumerator::Chain.new(value = [1]), value]
  end
  chain("an enumerable of a product", ["data: enumerables of Enumerator::Product", "element: [] of Array"]) do
    [Enumerator::Product.new(value = [1]), value]
  end

  chain("the first value of Enumerator.produce",
        ["data: receiver of Enumerator", "data: initial value of Enumerator::Producer"]) do
    [Enumerator.produce(value = child) { }, value]
  end
  chain("a block of an Enumerator::Lazy",
        ["data: lazy steps of Enumerator::Lazy", "element: [] of Array", "data: block of Object"]) do
    block = proc { }
    [[1].lazy.map(&block), block]
  end

  # The VM's records of what happened and of what is to come.
  chain("a backtrace", ["ivar: bt of RuntimeError", "data: array of Thread::Backtrace"]) do
    begin
      raise "one"
    rescue => error
      [error, error.backtrace]
    end
  end
  chain("the path of autoload",
        ["ivar: __autoload__ of module (anonymous Module)", "data: data of (hidden T_DATA) (autoload_table in ruby)",
         "data: feature of (hidden T_DATA)", "data: path of (hidden T_DATA)"]) do
    auto = Module.new
    auto.autoload(:Later, "/a/path/that/is/long/enough")
    [auto, auto.autoload?(:Later)]
  end

  # Threads, fibers, queues.
  chain("an item of a Queue", ["data: items of Thread::Queue", "element: [] of (hidden T_ARRAY)"]) do
    [Queue.new << (value = child), value]
  end
  chain("an item of a SizedQueue", ["data: items of Thread::SizedQueue", "element: [] of (hidden T_ARRAY)"]) do
    [SizedQueue.new(3) << (value = child), value]
  end
  edge("the value of a thread", :data, "value of Thread") { (value = child).then { [Thread.new { value }.tap(&:join), value] } }
  edge("the name of a thread", :data, "name of Thread") do
    # By the thread itself: with musl, Ruby crashes when a thread that has ended is named.
    thread = Thread.new { Thread.current.name = "a name that is a String of its own" }.join
    [thread, thread.name]
  end
  chain("a thread variable", ["thread_local: thread variables of a thread", "value: {} value of Hash"]) do
    thread = Thread.new { }.join
    thread.thread_variable_set(:repo, value = child)
    [thread, value]
  end
  edge("a fiber local of a thread", :fiber_local, ":repo of a thread") do
    value = child
    thread = waiting do
      Thread.current[:repo] = value
      sleep
    end
    [thread, value]
  end
  edge("a fiber local of a fiber", :fiber_local, ":repo of a fiber") do
    value = child
    fiber = Fiber.new { Thread.current[:repo] = value; Fiber.yield }
    fiber.resume
    [fiber, value]
  end
  chain("a value of a fiber's storage", ["fiber_local: fiber storage of a fiber", "value: {} value of Hash"]) do
    [Fiber.new(storage: {repo: value = child}) { }, value]
  end
  edge("a local of a fiber that waits", :local, "local repo of block in #{NAME}.suspended") { suspended(child) }
  edge("a local of a method that a fiber is in", :local, "local value of #{NAME}.wait_with") do
    fiber = Fiber.new { wait_with(child) }
    [fiber, fiber.resume]
  end
  edge("a local of a thread that waits", :local, "local value of #{NAME}.wait_for_ever") do
    value = child
    thread = start_waiting(value)
    [thread, value]
  end

  edge("a local of a method that waits, whose variables a block has", :local, "local repo of #{NAME}.wait_with_block") do
    value = child
    box = [value]
    [waiting { wait_with_block(box.pop) }, value]
  end
  edge("what a method in C goes through", :local, "local repos of #{NAME}.wait_in_each") do
    value = [1]
    box = [value]
    [waiting { wait_in_each(box.pop) }, value]
  end
  edge("what a method in C goes through, and nothing else refers to", :self, "self of Hash#each") do
    value = {one: 1}
    box = [value]
    [waiting { box.pop.each { sleep } }, value]
  end

  def self.wait_with_block(repo)
    block = -> { Time.now }
    sleep
    [block, repo]
  end

  def self.wait_in_each(repos) = repos.each_with_index { sleep }

  def self.suspended(value)
    box = [value]
    fiber = Fiber.new do
      repo = box.pop
      Fiber.yield
      repo
    end
    fiber.resume
    [fiber, value]
  end

  def self.wait_with(value)
    Fiber.yield(value)
    value
  end

  def self.wait_for_ever(value)
    sleep
    value
  end

  def self.start_waiting(value)
    box = [value]
    waiting { wait_for_ever(box.pop) }
  end

  # Objects of extensions.
  edge("an object in C", :data, "data of Object (edges/box in heap_sampler_edges.so)") { [Edges.box(value = child), value] }
  edge("an object in C that declares its references", :data, "data of Object") { [Edges.declared(value = child), value] }

  edge("an object in C of the same type's name as one of the VM's", :data, "data of Object (queue in heap_sampler_edges.so)") do
    [Edges.box_named_queue(value = child), value]
  end

  # Classes, methods, code.
  edge("the class of an object", :class, "class of #{NAME}::Badge") { [Badge.new, Badge] }
  edge("the superclass", :superclass, "superclass of class #{NAME}::Point3") { [Point3, Point] }
  edge("a singleton class", :class, "class of Object") { [object = Object.new, object.singleton_class] }
  edge("the object of a singleton class", :class, "object of singleton class of a #{NAME}::Badge") do
    badge = Badge.new
    [badge.singleton_class, badge]
  end
  chain("an included module",
        ["superclass: modules included in (anonymous Class < Object)"] * 2) do
    [Class.new { include Mixin }, Mixin]
  end
  chain("define_method's block and its local",
        ["method: method kept of class (anonymous Class < Object)", "block: block of method kept",
         "environment: locals outside of block (2 levels) in #{NAME}.defining",
         "environment: locals outside of block in #{NAME}.defining", "local: local value of #{NAME}.defining"]) do
    value = child
    [defining(value), value]
  end
  chain("a singleton method that a block defines",
        ["class: class of Object", "method: method kept of singleton class of a Object", "block: block of method kept",
         "environment: locals outside of block (2 levels) in #{NAME}.defining_singleton",
         "environment: locals outside of block in #{NAME}.defining_singleton",
         "local: local value of #{NAME}.defining_singleton"]) do
    value = child
    [defining_singleton(value), value]
  end
  chain("a literal of a method",
        ["method: method pattern of class #{NAME}::Code", "code: code of method #{NAME}::Code#pattern",
         "code: literal of pattern"]) { [Code, Code.new.pattern] }
  chain("a literal of a block",
        ["method: method block of class #{NAME}::Code", "code: code of method #{NAME}::Code#block",
         "code: block of block", "code: literal of block in block"]) { [Code, Code.new.block.call] }
  chain("a value that is made once",
        ["method: method once of class #{NAME}::Code", "code: code of method #{NAME}::Code#once",
         "code: value that is made once of once"]) { [Code, Code.new.once] }
  chain("the default of a keyword",
        ["method: method keyword of class #{NAME}::Code", "code: code of method #{NAME}::Code#keyword",
         "code: default of a keyword of keyword"]) { [Code, Code.new.keyword] }
  chain("a constant in a cache",
        ["method: method constant of class #{NAME}::Code", "code: code of method #{NAME}::Code#constant",
         "cache: cached constant of constant", "cache: value of (imemo:constcache)"]) do
    [Code, Code.new.constant]
  end

  class Code
    VALUE = [1]
    def pattern = /a pattern/
    def block = -> { /another pattern/ }
    def once = /#{CACHED.first}b/o
    def keyword(one: 2.0i) = one
    def constant = TestHeapSamplerEdges::CACHED
  end
  CACHED = ["cached"]

  def self.defining(value) = Class.new { define_method(:kept) { value } }
  def self.defining_singleton(value) = Object.new.tap { |object| object.define_singleton_method(:kept) { value } }

  # The VM's own.
  edge("a TracePoint's block", :data, "block of TracePoint") do
    block = proc { }
    [TracePoint.new(:raise, &block), block]
  end
  chain("a value of a Ractor's storage", ["thread_local: Ractor local kept of Ractor"]) do
    Ractor.current[:kept] = value = child
    [Ractor.current, value]
  end
  edge("the block of a thread", :block, "block of Thread") do
    block = proc { sleep }
    [waiting(&block), block]
  end
  edge("the block of a fiber", :block, "block of Fiber") { (block = proc { }).then { [Fiber.new(&block), block] } }
  (1..8).each do |n|
    chain("local #{n} of 8 of a block that a block keeps",
          ["environment: locals outside of block (2 levels) in #{NAME}.eight",
           "local: local l#{n} of block in #{NAME}.eight"]) do
      values = Array.new(8) { child }
      [eight(values), values[n - 1]]
    end
  end
  (1..8).each do |n|
    edge("local #{n} of 8 of a fiber that waits", :local, "local l#{n} of #{NAME}.eight_in_fiber") do
      values = Array.new(8) { child }
      fiber = Fiber.new { eight_in_fiber(values) }
      fiber.resume
      held = values[n - 1]
      values.clear
      [fiber, held]
    end
  end

  def self.eight(values)
    [values].map { |(l1, l2, l3, l4, l5, l6, l7, l8)| -> { [l1, l2, l3, l4, l5, l6, l7, l8] } }.first
  end

  def self.eight_in_fiber(values)
    l1, l2, l3, l4, l5, l6, l7, l8 = values
    Fiber.yield
    [l1, l2, l3, l4, l5, l6, l7, l8]
  end

  def self.waiting(*arguments, &block)
    thread = Thread.new(*arguments, &block)
    (@threads ||= []) << thread
    Thread.pass until thread.stop?
    thread
  end

  def self.end_threads
    @threads&.each { |thread| thread.kill.join }
    @threads = nil
  end

  def teardown
    self.class.end_threads
  end

  ROWS.each do |name, (expected, plant)|
    define_method("test_#{name.gsub(/\W+/, '_')}") do
      omit "without the sampler" unless Edges
      parent, child = self.class.instance_exec(&plant)
      found = Edges.chain(parent, child)
      assert_not_nil found, "the GC does not come from one to the other"
      assert_equal expected.map { |kind, text| "#{kind}: #{text}" }, found.map { |kind, text| "#{kind}: #{text}" }
    end
  end

  def test_rows
    assert_operator ROWS.size, :>=, 200
  end

  # -- what is in no table -----------------------------------------------------------------------------------------------

  def edges(script, args: [], timeout: 60)
    omit "without the sampler" unless Edges
    assert_separately(["-W0", "-r-test-/heap_sampler_edges", *args], "Edges = Bug::HeapSamplerEdges\n" + script, timeout: timeout)
  end

  def test_a_WeakMap_keeps_nothing
    edges(<<~'RUBY')
      map = ObjectSpace::WeakMap.new
      key, value = Object.new, Object.new
      map[key] = value
      assert_nil Edges.chain(map, value)
      assert_nil Edges.chain(map, key)
      keys = ObjectSpace::WeakKeyMap.new
      keys[key] = 1
      assert_nil Edges.chain(keys, key)
      collected = Array.new(100) { |n| Object.new.tap { |one| keys["a key that is not held #{n}"] = one } }
      GC.start
      assert_operator collected.count { |one| Edges.edge(keys, one)[0] == :data }, :>, 50, "values of collected keys"
    RUBY
  end

  def test_code_has_its_place
    edges(<<~'RUBY')
      code = <<~SOURCE
        class Badge
          def keep(repo)
            kept = repo
            -> {
              repo
            }
          end
          def wait(repo)
            Fiber.yield

            repo
          end
        end
      SOURCE
      eval(code, TOPLEVEL_BINDING, "badge.rb", 1)
      value = Object.new
      block = Badge.new.keep(value)
      assert_equal [["environment", "badge.rb", 4], ["local", "badge.rb", 2]],
                   Edges.chain(block, value).map { |kind, _, path, line| [kind.to_s, path, line] }
      fiber = Fiber.new { Badge.new.wait(Object.new.tap { |one| value = one }) }
      fiber.resume
      assert_equal [:local, "local repo of Badge#wait", "badge.rb", 9], Edges.edge(fiber, value)
      assert_equal [:ivar, "@x of Badge", nil, 0], Edges.edge(Badge.new.tap { |b| b.instance_variable_set(:@x, value) }, value)
    RUBY
  end

  def test_TracePoints_that_are_enabled
    edges(<<~'RUBY')
      class Badge
        def label = 1
        define_method(:block) { 2 }
      end
      traces = Array.new(3) { TracePoint.new(:call) { } }
      traces[0].enable
      traces[1].enable(target: Badge.instance_method(:label))
      traces[2].enable(target: Badge.instance_method(:block))
      assert_equal [[:data, "enabled TracePoint of Ractor"]], Edges.chain(Ractor.current, traces[0]).map { |kind, text,| [kind, text] }
      assert_equal [:data, "enabled TracePoint of label"], Edges.chain(Badge, traces[1]).last.first(2)
      assert_equal [:data, "enabled TracePoint of method Badge#block"], Edges.chain(Badge, traces[2]).last.first(2)
      traces.each(&:disable)
      traces.each { |trace| assert_nil Edges.chain(Ractor.current, trace)&.find { |_, text| text.start_with?("enabled") } }
    RUBY
  end

  def test_a_method_in_C_has_the_place_of_its_caller
    edges(<<~'RUBY')
      waiting = eval("box = [{one: 1}]\nvalue = box[0]\n[Thread.new {\n box.pop.each { sleep }\n}, value]", TOPLEVEL_BINDING.dup, "app/job.rb", 1)
      Thread.pass until waiting[0].stop?
      assert_equal [:self, "self of Hash#each", "app/job.rb", 4], Edges.edge(*waiting)
    RUBY
  end

  def test_roots
    edges(<<~'RUBY')
      $badges = badges = Object.new
      assert_equal [:gvar, "$badges", nil, 0], Edges.root_edge("global_tbl", badges)
      hidden, seen = Object.new, Object.new
      Edges.register(hidden, seen)
      assert_equal [:address, "variable in heap_sampler_edges.so", nil, 0], Edges.root_edge("vm", hidden)
      assert_equal [:address, "hs_edges_seen_address in heap_sampler_edges.so", nil, 0], Edges.root_edge("vm", seen)
      assert_equal [:gvar, "$LOAD_PATH", nil, 0], Edges.root_edge("vm", $LOAD_PATH)
      assert_equal [:gvar, "$LOADED_FEATURES", nil, 0], Edges.root_edge("vm", $LOADED_FEATURES)
      trap("USR2", block = proc { })
      assert_equal [:root, "(trap)", nil, 0], Edges.root_edge("vm", block)
      assert_equal [:root, "(main object)", nil, 0], Edges.root_edge("vm", self)
      assert_equal [:root, "(threads)", nil, 0], Edges.root_edge("vm", Ractor.current)
      assert_equal [:root, "(constants)", nil, 0], Edges.root_edge("constants", Object)
      assert_equal [:root, "(at_exit)", nil, 0], Edges.root_edge("end_proc", block)
      assert_equal [:root, "(machine stack)", nil, 0], Edges.root_edge("machine_context", block)
      assert_equal [:root, "(VM)", nil, 0], Edges.root_edge("vm", Object.new)
      assert_equal [:root, "(VM)", nil, 0], Edges.root_edge("of a later Ruby", Object.new)
    RUBY
  end

  def test_finalizers_are_roots
    edges(<<~'RUBY')
      kept = Object.new
      object = Object.new
      ObjectSpace.define_finalizer(object, block = proc { kept })
      assert_equal [[[:finalizer, "(finalizer)", nil, 0]], true], Edges.finalizers(block)
    RUBY
  end

  # Each reference of each object of a program with much of the standard library has a name; nothing is allocated for it.
  def assert_all_named(before = "", args: [])
    libraries = %w[json set erb optparse socket net/http rdoc tempfile fileutils date ripper
                   pstore digest zlib strscan forwardable delegate logger monitor timeout open3 uri resolv find]
    # A build may lack their C libraries.
    libraries += %w[psych openssl].select { |library| $LOAD_PATH.resolve_feature_path("#{library}.so") }
    edges(<<~RUBY, args: args, timeout: 240)
      #{libraries}.each { |library| require library }
      [1, 2].each.next
      fibers = Array.new(3) { |n| Fiber.new { |one| Fiber.yield(one) }.tap { |f| f.resume(Object.new) } }
      threads = Array.new(3) { Thread.new { Queue.new.pop } }
      Ractor.new { Ractor.receive }
      Thread.pass until threads.all?(&:stop?)
      #{before}
      sweeps = Array.new(3) { Edges.sweep }
      sweep = sweeps.last
      assert_operator sweep[:edges], :>, #{libraries.include?("openssl") ? 100_000 : 90_000}
      assert_equal 0, sweep[:unnamed]
      assert_equal 0, sweep[:out_of_form]
      assert_equal 0, sweep[:allocated_objects]
      # A Ractor that begins just now takes a heap page: the list of pages, which the sweep copies, is longer.
      assert_equal 0, sweeps.map { |one| one[:allocated_bytes] }.min if sweep[:allocated_bytes]
      assert_equal [], sweep[:others].map { |one| one[1] }.uniq
    RUBY
  end

  def test_all_objects = assert_all_named
  def test_all_objects_while_marking = assert_all_named("GC.start(full_mark: true, immediate_mark: false)")
  def test_all_objects_with_yjit = assert_all_named("200.times { JSON.generate([1, {a: 2}]) }", args: ["--yjit"])

  def test_all_objects_after_compaction
    omit "no compaction here" unless GC.respond_to?(:compact)
    assert_all_named("GC.compact")
  end

  # -- blocks of malloc ----------------------------------------------------------------------------------------------------

  def test_blocks
    edges(<<~'RUBY')
      class Many; end
      many = Many.new
      300.times { |n| many.instance_variable_set(:"@v#{n}", n) }
      wide = Struct.new(*(1..200).map { |n| :"m#{n}" }).new
      locals = binding
      text, shared = "x" * 100_000, "y" * 100_000
      {
        "a string" => [text, [100_001]],
        "an array" => [Array.new(10_000), [80_000]],
        "a bignum" => [1 << 80_000, [10_001]],
        "a struct" => [wide, [1600]],
        "variables" => [many, [2400]],
        "a hash" => [(1..1000).to_h { |n| [n, n] }, [4096, 24_000]],
        "a small string" => ["x" * 20, []],
        "a small array" => [[1, 2], []],
        "a small hash" => [{a: 1}, []],
        "a string that shares" => [shared[10, 99_990], []],
        "an integer" => [2**62 + 1, []],
        "an object in C" => [Edges.box(1), [8]],
      }.each do |name, (object, least)|
        sizes = Edges.blocks(object).sort
        assert_equal least.size, sizes.size, name
        sizes.zip(least) { |size, expected| assert_includes(expected..(expected * 2.2 + 16), size, name) }
      end
      copy = "y".dup
      copy.instance_variable_set(:@a, 1)
      assert_equal 1, Edges.blocks(copy).size, "generic variables"
      assert_operator Edges.blocks(Regexp.new("a" * 1000)).sum, :>, 1000
      assert_operator Edges.blocks(Class.new { 100.times { |n| const_set(:"C#{n}", n) } }).size, :>, 100
    RUBY
  end

  def test_blocks_of_all_objects
    edges(<<~'RUBY')
      require "rdoc"
      require "net/http"
      matches = Array.new(10) { /(.)/.match("text") }
      objects, blocks, short, type = Edges.audit
      assert_operator objects, :>, 9_000
      assert_operator blocks, :>, 500
      assert_equal 0, short, "of type #{type}"
    RUBY
  end
end
