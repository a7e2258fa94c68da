# frozen_string_literal: true

# Hostile files, made by hand: one line that names the file, status 1, in bounded
# memory and time.  Most are read within this process, which is what a command does
# with them; what is about memory runs as a process with a limit.

require_relative "../../testing"
require_relative "../library/pprof_encoder"
require_relative "hostile_files"
require_relative "synthetic"

class BombsTest < Test
  include HostileFiles

  LIMIT = 1 << 30                # bytes of address space
  SECONDS = 30

  GZ = Zlib.gzip(PprofEncoder.new(Builds.sample_build.raw).encode)

  def limited(dir, bytes, pattern, ending = ".pb.gz")
    path = write(File.join(dir, "hostile#{ending}"), bytes)
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    fails(1, pattern, "top", path, rlimit_as: LIMIT)
    seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
    assert(seconds < SECONDS, "#{seconds} s")
  end

  test "numbers out of all bounds" do
    huge = (1 << 64) - 1
    strings = ["", "inuse_objects", "inuse_space"].map { |text| entry(6, text) }.join
    types = entry(1, number(1, 1)) + entry(1, number(1, 2))
    sample = ->(location, value) { entry(2, entry(1, varint(location)) + entry(2, varint(value) * 2)) }
    assert_equal(:read, read_or_refused(types + sample[huge, 5] + strings, ".pb"))                    # a location that is not there
    assert_equal(:refused, read_or_refused(types + sample[1, huge] + strings, ".pb"))                 # negative
    assert_equal(:read, read_or_refused(types + sample[1, huge >> 1] + strings, ".pb"))
    assert_equal(:refused, read_or_refused(types + sample[1, 5] + entry(4, "\x08" + "\xff" * 12 + "\x01") + strings, ".pb"))
    assert_equal(:read, read_or_refused(types + sample[1, 5] + number(12, huge) + entry(4, number(1, 1) + number(3, huge) + number(2, huge)) + strings, ".pb"))
    assert_equal(:refused, read_or_refused(types + sample[1, 5] + strings + "\x32".b + varint(1 << 62), ".pb"))
    # functions and lines that name each other's numbers lead nowhere
    loop = entry(4, number(1, 1) + entry(4, number(1, 1) + number(2, huge))) + entry(5, number(1, 1) + number(2, 1) + number(4, 2))
    assert_equal(:read, read_or_refused(types + sample[1, 5] + loop * 3 + strings, ".pb"))
  end

  # A file of ours with a message Meta of these bytes, and more behind it.
  def ours(more = "") = go_profile { entry(1000, yield) + more }

  test "a stack of a hundred thousand frames" do
    deep = entry(1, number(1, 1)) + entry(1, number(1, 2)) + entry(2, entry(1, varint(1) * 100_000) + entry(2, varint(9) * 2)) +
           entry(4, number(1, 1) + entry(4, number(1, 1) + number(2, 3))) + entry(5, number(1, 1) + number(2, 1)) +
           ["", "inuse_objects", "inuse_space"].map { |text| entry(6, text) }.join
    assert_equal(:refused, read_or_refused(deep, ".pb"))
  end

  test "bombs do not go off" do
    packed = Zlib.gzip("\0" * (64 << 20))
    bomb = StringIO.new("".b).tap do |io|
      deflate = Zlib::Deflate.new(1, 31)
      1024.times { io << deflate.deflate("2\0" * (1 << 19)) }
      io << deflate.finish
    end.string
    limited(dir, bomb, /decompresses to more than \d+ (?:bytes|times)|more than \d+ entries/)
    limited(dir, packed, /not a readable heap profile/)
    limited(dir, Zlib.gzip(packed), /not a readable heap profile/)
  end

  test "what is small and expands is refused, in bounded time and memory", missing: ONCE do
    one = function(1) + location(1)
    { /a location has more than 64 lines/ => go_profile("f", "/a.rb") { function(1) + location(1, 1, 10_000) + sample([1] * 4_000) },
      /a stack has more than 4224 frames/ => go_profile("f", "/a.rb") { function(1) + location(1, 1, 64) + sample([1] * 67) },
      /a stack has more than 4224 frames$/ => go_profile("f", "/a.rb") { one + sample([1] * 4225) },
      /a sample has more than 131072 bytes/ => go_profile("f", "/a.rb") { one + sample([1] * 200_000) },
      /a text has more than 65536 bytes/ => go_profile("f" * 65_537, "/a.rb") { one + sample([1]) },
      /a text has more than 65536 bytes$/ => go_profile("f", "{" * 2_000_000) { one + sample([1]) },
      /its settings have more than 1048576 bytes/ => ours { "\x08\x01" * 600_000 },
      /its settings have more than 20000 entries/ => ours { "\xa2\x01\x00".b * 300_000 },
      /more than 1048576 rows, or parts of rows/ => ours(entry(2, entry(1, "\1") + entry(2, "\0\0\0\0") + "\xc2\x3e\x00".b * 1_100_000)) { "\x08\x01" },
      /more than 1048576 rows, or parts of rows$/ =>
        ours(entry(1001, "") + entry(2, entry(1, "\1") + entry(2, "\0\0\0\0") + entry(1000, "\xf2\x01\x02\x08\x01".b * 1_100_000))) { "\x08\x01" },
      /more than 1000 sample types/ => go_profile("f", "/a.rb") { one + sample([1]) + entry(1, number(1, 1)) * 2000 },
      /its interval is 9223372036854775808 bytes/ => go_profile("f", "/a.rb", "space") { one + sample([1]) + entry(11, number(1, 7)) + number(12, 1 << 63) },
      /more than 2000000 entries/ => go_profile("f", "/a.rb") { one + sample([1]) + entry(6, "x") * 2_100_000 },
      /more than 100 times/ => "\0" * (200 << 20) }.each { |pattern, bytes| limited(dir, Zlib.gzip(bytes, level: 1), pattern) }
  end

  test "the settings have numbers that a program could have counted, or are refused" do
    meta = HeapSample::MetaMessage.encode(sample_build.raw[:meta])
    ["\x70".b + "\xff".b * 9 + "\x7f", "\x70".b + "\xff".b * 9 + "\x02"].each do |field|
      path = write(File.join(dir, "numbers.pb.gz"), Zlib.gzip(PprofEncoder.new(sample_build.raw, meta: meta + field).encode))
      fails(1, /a number in its settings is out of range$/, "diagnose", "--about", path)
    end
  end

  test "what is as large as the limits allow is read, in bounded time" do
    ones = "1" * 60_000
    paths = ["(eval at " * 5_000 + ":1)" * 5_000, "/gems/#{"1-" * 32_000}", "/gems/#{"1-" * 32_000}1/", "/gems/1-#{ones}", "/gems/" * 10_000,
             "/lib/ruby/1.1.#{ones}", "/lib/ruby/1.1.#{ones}/", "/extensions/a/#{"a-1" * 20_000}"]
    messages = Array.new(paths.size) { |index| function(index + 1, 5, 6 + index) + location(index + 1) + sample([index + 1] * 4096) }
    path = write(File.join(dir, "large.pb.gz"), Zlib.gzip(go_profile("f", *paths) { messages.join }))
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    %w[app gem line].each { |by| printed("top", path, "--by", by, rlimit_as: LIMIT) }
    seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
    assert(seconds < SECONDS, "#{seconds} s")
  end

  test "a symbol of C++ that refers to itself again and again stays a symbol" do
    symbol = 20.times.inject(+"_Z1f1AIiiE") { |text, index| text << "1AI#{"S#{(2 * index).to_s(36).upcase}_" * 2}E" }
    assert_equal(symbol, HeapSample::CPlusPlus.readable(symbol))
  end

  test "a location without lines and address is read" do
    path = write(File.join(dir, "empty.pb.gz"), Zlib.gzip(go_profile("f", "/a.rb") { function(1) + location(1) + entry(4, number(1, 2)) + sample([2]) + sample([2, 1]) }))
    %w[tree top].each { |command| printed(command, path) }
  end

  test "a NUL in the path of a library is no error" do
    assert_equal("(libxy.so)", HeapSample::GemName.of_library("/usr/lib/libx\0y.so"))
  end

  test "so many small messages", missing: ONCE do
    ["\x12\x00", "\x32\x00", "\x22\x00", "\x0a\x00"].each do |bytes|
      limited(dir, Zlib.gzip(bytes.b * 2_100_000, level: 1), /more than \d+ entries/)
    end
  end

  test "a large file, cut and bent" do
    large = File.join(dir, "large.pb.gz")
    Synthetic.new(stacks: 3_000).write(large, Build.new.meta)
    bytes = File.binread(large)
    random = Random.new(3)
    15.times { assert_equal(:refused, read_or_refused(bytes[0, random.rand(bytes.bytesize)], ".pb.gz")) }
    plain = Zlib.gunzip(bytes)
    4.times do
      read_or_refused(plain.dup.tap { |copy| 50.times { copy.setbyte(random.rand(copy.bytesize), random.rand(256)) } }, ".pb")
    end
  end

  test "each command reads the other files of a folder, and says in lines that no name can break what was left out" do
    bad = File.join(dir, "bad")
    Dir.mkdir(bad)
    2.times { |minute| write(File.join(bad, "heap-#{minute}.pb.gz"), Zlib.gzip(PprofEncoder.new(sample_build.raw.tap { |raw| raw[:meta]["taken_ns"] += minute * Build::MINUTE }).encode)) }
    File.mkfifo(File.join(bad, "heap-2.pb.gz"))
    File.symlink("/dev/zero", File.join(bad, "heap-3.pb.gz"))
    Dir.mkdir(File.join(bad, "heap-4.pb"))
    write(File.join(bad, "heap-\e[31mRED\xff\n\u202e.pb.gz"), "xx")
    [[], ["diagnose"], ["diagnose", "--format", "markdown"], ["diagnose", "--about"], ["diagnose", "--about", "--json"], ["diagnose", "--snapshot"], ["top"], ["merge"]].each do |command|
      result = heapsample(*command, bad, *(["-o", File.join(dir, "all.pb.gz")] if command == ["merge"]), rlimit_as: LIMIT, env: {"LC_ALL" => "C"})
      assert_equal([0, command], [result.status, command]) unless result.status.zero?
      assert(result.err.lines.all? { |line| line.start_with?("heapsample: ") }, result.err)
      clean([result.out, result.err])
    end
    (4..40).each { |index| File.mkfifo(File.join(bad, "heap-#{index}.pb.gz")) }
    assert_equal([6, 1], heapsample("top", bad).err.lines.then { |lines| [lines.grep(/not a readable heap profile|: it is a|left out/).size, lines.grep(/more files are left out/).size] })
    fails(1, /heap-2\.pb\.gz: it is a FIFO, not a file/, "top", File.join(bad, "heap-2.pb.gz"))
    fails(1, /invalid byte sequence/, "top", "\xff")     # OptionParser says so
  end

  test "what is no profile at all" do
    {"" => /it is an empty file/, "\x1f\x8b" => /gzip/, "\x28\xb5\x2f\xfd\0\0" => /compressed with zstd/, "<html>" => /it is an HTML page/,
     "\x0a\x0a\0" => /not compressed with gzip/, Zlib.gzip("\0") => /the number 0/, Zlib.gzip("") => /a gzip of an empty file/, GZ + GZ => /bytes follow/}.each do |bytes, pattern|
      path = write(File.join(dir, "no.pb.gz"), bytes.b)
      fails(1, /no\.pb\.gz: .*#{pattern}/, "top", path)
      fails(1, /no\.pb\.gz: .*#{pattern}/, "merge", path, "-o", File.join(dir, "merged.pb.gz"))
      refute(File.exist?(File.join(dir, "merged.pb.gz")), "a file was written")
    end
  end
end
