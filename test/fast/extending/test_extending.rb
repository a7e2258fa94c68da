# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../gems"
require "tmpdir"

# A folder that goes with the test.
class ScratchTest < Test
  def setup = @scratch = Dir.mktmpdir("extending")
  def teardown = FileUtils.rm_rf(@scratch)
end

class TenSitesTest < ScratchTest
  STOCK = ENV["STOCK_RUBY"] || "#{TOP}/build/3.4-stock/prefix/bin/ruby"
  PROGRAM = <<~RUBY
    class Leaf; end
    LEAVES = Array.new(200_000) { Leaf.new }
    COPIES = Array.new(100_000) { "a text".dup }
    puts "the program's own output"
  RUBY

  # What the example reports about the program on this Ruby; the program itself prints what it prints.
  def report(ruby)
    program = "#{@scratch}/program.rb"
    File.write(program, PROGRAM)
    out, report, status = Open3.capture3({"TEN_SITES_INTERVAL" => "512"}, "timeout", "120", "#{TOP}/examples/ten_sites/run", ruby, program)
    assert(status.success?, report)
    assert_includes out.lines, "the program's own output\n"
    report
  end

  test "ten_sites names the two lines with what they allocate, in ten lines at most" do
    text = report(RbConfig.ruby)
    assert_includes 3..11, text.lines.size
    # 200,000 slots of 40 bytes, and 100,000.
    {2 => 7.63, 3 => 3.81}.each do |line, mib|
      assert_in_delta mib, text[%r{^ +([\d.]+) MiB +[\d.]+%  \S+program.rb:#{line} }, 1].to_f, 0.15 * mib, text
    end
  end

  test "ten_sites compiles on a Ruby without the API, and prints that it cannot sample there", missing: ("no unpatched Ruby is built" unless File.executable?(STOCK)) do
    assert_includes report(STOCK), "this Ruby offers no sampled allocations"
  end
end

class AliveTest < ScratchTest
  # 800,000 slots of 40 bytes are 32 MB, some 60 samples: their error is 13%, and the limits are five of it.
  COUNTS = <<~RUBY
    Alive.start
    # On the stack of a thread that has ended nothing is found that looks like a reference.
    all = Thread.new { kept = Array.new(800_000) { Object.new }; Alive.bytes.tap { kept = nil } }.value
    2.times { GC.start }
    left = Alive.bytes
    puts all, left, Alive.stop.inspect
    exit all.between?(12e6, 60e6) && left < all / 4
  RUBY
  EXTCONF = <<~'RUBY'
    require "mkmf"
    have_header("ruby/heap_sampler.h") or abort
    $CFLAGS << " -Werror"
    create_makefile("alive")
  RUBY

  test "the extension in doc/extending.md compiles as it stands there, and counts what is live and what was freed" do
    File.write("#{@scratch}/alive.c", File.read("#{TOP}/doc/extending.md").scan(/^```c\n(.*?)^```$/m).join)
    File.write("#{@scratch}/extconf.rb", EXTCONF)
    [[RbConfig.ruby, "extconf.rb"], %w[make], ["timeout", "60", RbConfig.ruby, "-I.", "-ralive", "-e", COUNTS]].each do |command|
      said, status = Open3.capture2e(*command, chdir: @scratch)
      assert(status.success?, said)
    end
  end
end
