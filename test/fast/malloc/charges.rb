# frozen_string_literal: true

# Which Ruby memory is charged where: each case makes memory on one line and keeps it; the profile must charge it to
# that line, to the kind and to the native function that stand here, and, of malloc, as many bytes as jemalloc says
# that the line took. charges.md has these cases as a table.
#
# Usage: ruby --heap-sample=output=none,interval=4k,malloc=4k charges.rb     runs the tests
#        ruby charges.rb --table                                            prints the table
TABLE = ARGV == ["--table"]

require "stringio"
require "set"
require "tmpdir"
require_relative "../../testing" unless TABLE
require_relative "charged"
Warning[:experimental] = false

SCRATCH = Dir.mktmpdir
at_exit { FileUtils.rm_rf(SCRATCH) }
HERE = __FILE__

Case = Struct.new(:what, :where, :functions, :line, :truth, :mapped, :exact)
CASES = []
KEEP = {}

# where: :malloc, :slots, :both (neither is nearly all), :no_gvl (malloc, but under "(no GVL)"), :stacks
# (neither). functions: one of them must have most of what malloc gave. exact: false where the line also frees what
# others allocated, such as an older table.
def on(what, where, *functions, exact: true, &make)
  CASES << (made = Case.new(what, where, functions, make.source_location[1], 0, 0, exact))
  return if TABLE

  GC.start
  before = [Charged.bytes_of_this_thread, Charged.status("VmSize")]
  # On a stack of its own, so that nothing of what it dropped seems to be held by the stack.
  Fiber.new { KEEP[what] = make.call; nil }.resume
  GC.start
  made.truth = Charged.bytes_of_this_thread - before[0]
  made.mapped = (Charged.status("VmSize") - before[1]) * 1024
end

WORDS = "0123456789" * 10
unless TABLE
  DATA = File.join(SCRATCH, "data.txt")
  File.write(DATA, "a line of text, forty characters long..\n" * 50_000)
  SOURCE = Array.new(1500) { |i| "def generated_#{i}(a, b) = [a + b * #{i}, a.to_s, \"x\#{b}\"]" }.join("\n")
  File.write(File.join(SCRATCH, "generated.rb"), SOURCE.gsub("generated_", "loaded_"))
end
MEMBERS = Array.new(100) { |i| :"member_#{i}" }
Wide = Struct.new(*MEMBERS)
Narrow = Struct.new(*MEMBERS.first(8))
NUMBERS = (1..50_000).to_a

# Arrays and hashes
on("Array that is made with up to 78 elements, and does not grow", :slots) { Array.new(8_000) { |i| [i, i, i, i, i, i, i, i, i, i] } }
on("Array.new(n), more elements", :malloc, "ary_resize_capa") { Array.new(100_000) }
on("Array#<<, push, map: an array that grows", :malloc, "ary_resize_capa") { a = []; 100_000.times { |i| a << i }; a }
on("Array#+", :malloc, "ary_new") { NUMBERS + NUMBERS }
on("Hash: up to 8 pairs", :slots) { Array.new(10_000) { |i| {a: i} } }
on("Hash#[]= that grows", :malloc, "rb_st_init_existing_table_with_size") { h = {}; 60_000.times { |i| h[i] = i }; h }
on("Hash of 9 pairs and more", :malloc, "rb_st_init_existing_table_with_size") { Array.new(500) { |i| h = {}; 40.times { |k| h[k] = i }; h } }
on("Hash#dup, merge", :malloc, "rb_st_replace") { Array.new(2) { KEEP["Hash#[]= that grows"]&.dup } }
on("Set#<<", :malloc, "rb_st_init_existing_table_with_size") { s = Set.new; 60_000.times { |i| s << i }; s }

# Strings
on("String of up to 639 bytes", :slots) { Array.new(4000) { |i| "string number #{i}".ljust(300) } }
on("String#*, +, ljust: a longer one", :malloc, "str_enc_new") { Array.new(100) { "x" * 10_000 } }
on("String#<<", :malloc, "str_buf_cat4") { Array.new(20) { s = +""; 500.times { s << WORDS }; s } }
on("interpolation", :malloc, "rb_str_buf_new") { Array.new(100) { |i| "#{WORDS * 100}#{i}" } }
on("format", :malloc, "rb_str_resize") { Array.new(100) { |i| format("%10000d", i) } }
on("String#gsub", :malloc, "str_buf_cat4") { s = "ab" * 5000; Array.new(50) { s.gsub("a", "cc") } }
on("Array#join", :malloc, "str_enc_new") { a = Array.new(2000, "abcdefghij"); Array.new(50) { a.join(",") } }
on("Array#pack", :malloc, "str_buf_cat4") { a = NUMBERS.first(1000); Array.new(50) { a.pack("Q*") } }
on("Marshal.dump", :malloc, "str_buf_cat4") { Array.new(5) { Marshal.dump(NUMBERS) } }
on("Marshal.load", :malloc, "str_enc_new") { s = Marshal.dump(Array.new(300) { |i| "#{i}" * 1000 }); Marshal.load(s) }
on("Integer that is big", :malloc, "rb_big_resize") { Array.new(100) { |i| 1 << (80_000 + i) } }
on("Symbol made at run time: name in slots, tables in malloc", :both, "rb_st_init_existing_table_with_size", exact: false) { Array.new(40_000) { |i| :"made_at_run_time_#{i}" } }

# Input and output
on("StringIO#write", :malloc, "str_buf_cat4") { io = StringIO.new; 10_000.times { io << WORDS }; io }
on("File.read", :malloc, "rb_str_resize") { File.read(DATA) }
on("IO#read(n), readpartial", :malloc, "str_enc_new") { File.open(DATA) { |f| a = []; while (s = f.read(50_000)) do a << s end; a } }
on("an open file that was read by line: its buffer", :malloc, "io_fillbuf") { Array.new(60) { File.open(DATA).tap(&:gets) } }
on("an open file that was written: its buffer", :malloc, "io_binwrite") { Array.new(60) { |i| File.open(File.join(SCRATCH, "w#{i}"), "w").tap { |f| f.write(WORDS) } } }
on("Dir.open: libc's buffer, malloc'd while Ruby waits without the GVL", :no_gvl) { Array.new(40) { Dir.open(SCRATCH) } }

# Objects and classes
on("objects of up to 78 instance variables or members", :slots) { Array.new(10_000) { |i| Narrow.new(i) } }
on("instance variables that outgrow the slot", :malloc, "rb_ivar_set") { Array.new(600) { o = Object.new; 100.times { |i| o.instance_variable_set(:"@v#{i}", i) }; o } }
on("instance variables of strings, arrays, hashes", :malloc,
   "generic_ivar_set_shape_ivptr", "rb_st_init_existing_table_with_size") { Array.new(1500) { s = +"abc"; 40.times { |i| s.instance_variable_set(:"@v#{i}", i) }; s } }
on("Struct of more members than a slot holds", :malloc, "struct_alloc") { Array.new(1000) { |i| Wide.new(i) } }
on("Class.new: method, constant and subclass tables", :both) { Array.new(1000) { Class.new { def a = 1; def b = 2 } } }
on("define_method", :both) { c = Class.new; 4000.times { |i| c.define_method("dm#{i}") { i } }; c }
on("object_id: a table from number to object", :malloc, "rb_st_init_existing_table_with_size", exact: false) { KEEP.values.grep(Array).first&.each(&:object_id) }
on("proc, lambda, binding: what they close over", :both) { Array.new(10_000) { |i| proc { i } } }

# Code
on("eval, require, load: iseqs", :malloc, "iseq_setup", "pm_iseq_new_with_opt") { eval(SOURCE) }
on("RubyVM::InstructionSequence.compile", :malloc, "iseq_setup", "pm_iseq_new_with_opt") { RubyVM::InstructionSequence.compile(SOURCE) }
on("load", :malloc, "iseq_setup", "pm_iseq_new_with_opt") { load File.join(SCRATCH, "generated.rb") }
on("Regexp.new", :malloc, "rb_reg_initialize", "rb_st_init_table_with_size", "onig_compile_ruby") { Array.new(1000) { |i| Regexp.new("(a|b#{i})+[c-z]{2,5}(?<n>foo)") } }
on("MatchData: its registers", :both, "onig_region_resize") { Array.new(6000) { "key=value;a=b".match(/(\w+)=(\w+);(\w)=(\w)/) } }
on("an exception's backtrace", :both, "rb_data_typed_object_zalloc") { Array.new(4000) { begin raise "x" rescue $! end } }

# Concurrency
on("Mutex, Queue, Random and other objects of C: their structs", :malloc, "rb_data_typed_object_zalloc") { Array.new(300) { |i| Random.new(i) } }
on("Thread.new: its stacks", :stacks) { Array.new(20) { Thread.new { sleep } } }
on("Fiber, Enumerator#next: stacks", :stacks) { Array.new(200) { f = Fiber.new { Fiber.yield }; f.resume; f } }
on("Ractor.new: its stacks", :stacks) { Array.new(5) { Ractor.new { Ractor.receive } } }

WHERE = {malloc: "malloc", slots: "slots", both: "slots and malloc", no_gvl: "malloc, as `(no GVL)`", stacks: "neither: stacks are counted"}.freeze

if TABLE
  puts "| what | where | function, by the most of it |", "| --- | --- | --- |"
  CASES.each do |made|
    puts "| #{made.what} | #{WHERE[made.where]} | #{made.functions.map { |name| "`#{name}`" }.join(", ")} |"
  end
  exit
end

class ChargesTest < Test
  ROWS = Charged.rows
  OF_LINE = ROWS.group_by { |row| row.line_in(HERE) }

  CASES.each do |made|
    test("#{made.what}: #{WHERE[made.where]}") { assert_charged(made, rows_of(made)) }
  end

  private

  def rows_of(made) = made.where == :no_gvl ? ROWS.select { |row| row.root == "(no GVL)" } : OF_LINE.fetch(made.line, [])
  def malloc_of(rows) = rows.select { |row| row.kind == :malloc }
  def space(rows) = rows.sum(&:space)

  def assert_charged(made, rows)
    slots, malloc = space(rows.reject { |row| row.kind == :malloc }), space(malloc_of(rows))
    shown = "slots #{slots.round}, malloc #{malloc.round}, truly #{made.truth}, mapped #{made.mapped}\n#{functions(rows)}"
    assert_operator slots + malloc, :>, 0, "nothing is charged to its line"
    assert_side(made, malloc.to_f / (malloc + slots), malloc + slots, shown)
    most = malloc_of(rows).group_by(&:function).transform_values { |of| space(of) }.max_by(&:last)
    assert_includes made.functions, most&.first, shown if made.functions.any?
    assert_truth(made, rows, shown)
  end

  def assert_side(made, share, charged, shown)
    case made.where
    # Iseqs have 0.82 to 0.86, with a standard deviation of 0.02: 0.7 is six of them below.
    when :malloc then assert_operator share, :>, 0.7, shown
    when :slots then assert_operator share, :<, 0.2, shown
    when :both then assert_includes 0.15..0.85, share, shown
    when :stacks then assert_operator made.mapped, :>, 2 * charged, shown
    end
  end

  # What jemalloc counts. YJIT may free a megabyte of its own on any line.
  def assert_truth(made, rows, shown)
    return if !made.exact || made.where != :malloc || RubyVM::YJIT.enabled?

    malloc = malloc_of(rows)
    # 5 deviations, and what the line took on behalf of others: pages of the heap, caches, GC's stack.
    margin = 5 * Math.sqrt(malloc.sum(&:variance)) + 0.1 * made.truth + 50_000
    assert_in_delta made.truth, space(malloc), margin, shown
  end

  def functions(rows)
    malloc_of(rows).group_by(&:function).map { |name, of| [name, space(of).round] }.max_by(4, &:last).map { |name, bytes| "#{bytes} #{name}" }.join("\n")
  end
end
