# frozen_string_literal: true

# Damaged and hostile files: one line that names the file, status 1, in bounded
# memory and time.  Most are read within this process, which is what a command does
# with them; what is about memory runs as a process with a limit.

require "tool"
require "held_build"
require "synthetic"

LIMIT = 2 << 30                 # bytes of address space
SECONDS = 60

REAL = sample_build.malloc(["!/usr/lib/libfoo.so foo_new", "app/a.rb:3 A#b"], "libfoo.so", 2000, inuse: 20).raw
PB = PprofWriter.new(REAL).encode
GZ = Zlib.gzip(PB)
# One that says who keeps what.
HELD = HeapSample::Formats.encode(held_build.profile, "pb")

# Reads it and uses all of it, or is refused with a FormatError.
def read_or_refused(bytes, ending)
  folder do |dir|
    path = write(File.join(dir, "x#{ending}"), bytes)
    begin
      profile = HeapSample::Profile.load(path)
      profile.report(width: 80).to_s
      profile.top(by: :gem).to_h
      HeapSample::Tree.new(profile).to_s
      profile.generations.to_s
      HeapSample::About.new(profile).to_s
      [profile.why.to_s, profile.why(full: true).to_h, profile.why.to_folded]
      profile.table.first(3).each { |row| profile.nearest_holder&.of_row(row)&.to_s }
      HeapSample::PprofWriter.new(profile).write(StringIO.new)
      HeapSample::FoldedWriter.new(profile).write(StringIO.new)
      HeapSample::SpeedscopeWriter.new(profile).write(StringIO.new)
      HeapSample::Tool::Merge.new.add(profile).profile
      :read
    rescue HeapSample::FormatError => e
      flunk(e.message) unless e.message.start_with?("#{path}: ") && !e.message.include?("\n")
      :refused
    end
  end
end

def limited(dir, bytes, pattern, ending = ".pb.gz")
  path = write(File.join(dir, "hostile#{ending}"), bytes)
  started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  RUBIES.each { |ruby| fails(1, pattern, "top", path, ruby: ruby, rlimit_as: LIMIT) }
  seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
  assert(seconds < SECONDS * RUBIES.size, "#{seconds} s")
end

require "stringio"
require "heapsample"

SLOW = ENV["SLOW"] == "1"

test "cut at any byte" do
  (0...GZ.bytesize).step(SLOW ? 1 : 3) { |length| equal(:refused, read_or_refused(GZ[0, length], ".pb.gz")) }
  (0...PB.bytesize).step(SLOW ? 1 : 23) { |length| read_or_refused(PB[0, length], ".pb") }
  (0...HELD.bytesize).step(SLOW ? 1 : 23) { |length| read_or_refused(HELD[0, length], ".pb") }
end

test "any bit flipped" do
  random = Random.new(1)
  (SLOW ? PB.bytesize * 8 : 150).times do |index|
    bit = SLOW ? index : random.rand(PB.bytesize * 8)
    read_or_refused(PB.dup.tap { |bytes| bytes.setbyte(bit / 8, bytes.getbyte(bit / 8) ^ (1 << bit % 8)) }, ".pb")
  end
  (SLOW ? HELD.bytesize * 8 : 400).times do |index|
    bit = SLOW ? index : random.rand(HELD.bytesize * 8)
    read_or_refused(HELD.dup.tap { |bytes| bytes.setbyte(bit / 8, bytes.getbyte(bit / 8) ^ (1 << bit % 8)) }, ".pb")
  end
end

test "spliced with itself and with noise" do
  random = Random.new(2)
  (SLOW ? 5_000 : 120).times do
    bytes = [PB, HELD].sample(random: random).dup
    random.rand(1..6).times do
      from, to = random.rand(bytes.bytesize), random.rand(bytes.bytesize)
      bytes[from, random.rand(40)] = random.rand(2).zero? ? bytes.byteslice(to, random.rand(60)) : random.bytes(random.rand(20))
    end
    read_or_refused(bytes, ".pb")
  end
end

def message(field, bytes) = varint(field << 3 | 2) + varint(bytes.bytesize) + bytes
def number(field, value) = varint(field << 3) + varint(value)

def varint(value) = HeapSample::Protobuf.encode(value)

test "numbers out of all bounds" do
  huge = (1 << 64) - 1
  strings = ["", "inuse_objects", "inuse_space"].map { |text| message(6, text) }.join
  types = message(1, number(1, 1)) + message(1, number(1, 2))
  sample = ->(location, value) { message(2, message(1, varint(location)) + message(2, varint(value) * 2)) }
  equal(:read, read_or_refused(types + sample[huge, 5] + strings, ".pb"))                    # a location that is not there
  equal(:refused, read_or_refused(types + sample[1, huge] + strings, ".pb"))                 # negative
  equal(:read, read_or_refused(types + sample[1, huge >> 1] + strings, ".pb"))
  equal(:refused, read_or_refused(types + sample[1, 5] + message(4, "\x08" + "\xff" * 12 + "\x01") + strings, ".pb"))
  equal(:read, read_or_refused(types + sample[1, 5] + number(12, huge) + message(4, number(1, 1) + number(3, huge) + number(2, huge)) + strings, ".pb"))
  equal(:refused, read_or_refused(types + sample[1, 5] + strings + "\x32".b + varint(1 << 62), ".pb"))
  # functions and lines that name each other's numbers lead nowhere
  loop = message(4, number(1, 1) + message(4, number(1, 1) + number(2, huge))) + message(5, number(1, 1) + number(2, 1) + number(4, 2))
  equal(:read, read_or_refused(types + sample[1, 5] + loop * 3 + strings, ".pb"))
end

test "a stack of a hundred thousand frames" do
  deep = message(1, number(1, 1)) + message(1, number(1, 2)) + message(2, message(1, varint(1) * 100_000) + message(2, varint(9) * 2)) +
         message(4, number(1, 1) + message(4, number(1, 1) + number(2, 3))) + message(5, number(1, 1) + number(2, 1)) +
         ["", "inuse_objects", "inuse_space"].map { |text| message(6, text) }.join
  equal(:read, read_or_refused(deep, ".pb"))
end

# Values that some field of the meta data may have, in place of its own.
ODD = [nil, 0, -1, 1 << 63, 1 << 80, 1.5, "x", "", [], [1], {}, {"a" => 1}, true].freeze
ACCOUNT = {"taken_ns" => 1, "rss" => 1 << 30, "pss" => 1 << 29, "slots_live" => 1 << 29, "slots_free" => 1 << 20, "malloc_live" => 1 << 28, "malloc_waste" => 1 << 20,
           "malloc_metadata" => 100, "stacks" => 5, "unattributed" => 0, "allocator" => "x", "jemalloc" => {"allocated" => 5}, "cost_ns" => 5}.freeze

def fields(hash, before = []) = hash.flat_map { |name, value| value.is_a?(Hash) && !value.empty? ? [[*before, name], *fields(value, [*before, name])] : [[*before, name]] }

def bent(meta, random)
  meta = JSON.parse(JSON.generate(meta))
  random.rand(1..3).times do
    *outer, last = fields(meta).sample(random: random)
    meta.dig(*outer).store(last, JSON.parse(JSON.generate(ODD.sample(random: random)))) unless outer.empty?
    meta[last] = JSON.parse(JSON.generate(ODD.sample(random: random))) if outer.empty?
  end
  meta
end

# What is refused is refused for a reason that a person can read.
def said_or_refused
  yield
rescue HeapSample::FormatError, ArgumentError => e
  flunk(e.message) if e.message.match?(/comparison of|can't be coerced|undefined/)
end

test "fields of the meta data that are of any kind: profiles, growth, merging, series" do
  random = Random.new(4)
  base = REAL[:meta].merge("account" => ACCOUNT, "account_at_start" => ACCOUNT)
  (SLOW ? 5_000 : 150).times do
    one, two, three = Array.new(3) do |index|
      times = {"taken_ns" => base["taken_ns"] + index * Build::MINUTE, "gc" => base["gc"].merge("count" => 100 + index)}
      HeapSample::Profile.from_raw(REAL.merge(meta: bent(base.merge(times), random)))
    end
    [-> { two.report }, -> { two.generations }, -> { HeapSample::About.new(two) }, -> { (two - one).report }, -> { HeapSample::Retained.new(one, two, three) },
     -> { HeapSample::Tool::Merge.new.add(one).add(two).profile.report }, -> { HeapSample::Series.new([one, two, three]).leaks },
     -> { HeapSample::Series.new([one, two, three] * 5).shape }].each do |analysis|
      said_or_refused { analysis.call.then { |text| text.to_s && JSON.generate(text.to_h) } }
    end
  end
end

folder do |dir|
  test "bombs do not go off" do
    packed = Zlib.gzip("\0" * (64 << 20))
    bomb = StringIO.new("".b).tap do |io|
      deflate = Zlib::Deflate.new(1, 31)
      (SLOW ? 8 : 1).times { 1024.times { io << deflate.deflate("2\0" * (1 << 19)) } }
      io << deflate.finish
    end.string
    limited(dir, bomb, /unpacks to more than \d+ bytes|more than \d+ entries/)
    limited(dir, packed, /not a readable heap profile/)
    limited(dir, Zlib.gzip(packed), /not a readable heap profile/)
  end

  test "so many small messages" do
    ["\x12\x00", *(["\x32\x00", "\x22\x00", "\x0a\x00"] if SLOW)].each do |bytes|
      limited(dir, Zlib.gzip(bytes.b * (12 << 20), level: 1), /more than \d+ entries/)
    end
  end

  test "labels without end, in one sample and in many" do
    strings = ["", "inuse_objects", "inuse_space"].map { |text| message(6, text) }.join
    types = message(1, number(1, 1)) + message(1, number(1, 2))
    labels = Array.new(200) { |index| message(3, number(1, 1) + number(3, index)) }.join * 5_000
    path = write(File.join(dir, "labels.pb.gz"), Zlib.gzip(types + message(2, message(1, "\x01") + message(2, "\x05\x05") + labels) + strings))
    RUBIES.each { |ruby| printed("top", path, ruby: ruby, rlimit_as: LIMIT) }
  end

  test "a large file, cut and bent" do
    large = File.join(dir, "large.pb.gz")
    Synthetic.new(stacks: 3_000).write(large, Build.new.meta)
    bytes = File.binread(large)
    random = Random.new(3)
    (SLOW ? 300 : 15).times { equal(:refused, read_or_refused(bytes[0, random.rand(bytes.bytesize)], ".pb.gz")) }
    plain = Zlib.gunzip(bytes)
    (SLOW ? 100 : 4).times do
      read_or_refused(plain.dup.tap { |copy| 50.times { copy.setbyte(random.rand(copy.bytesize), random.rand(256)) } }, ".pb")
    end
  end

  test "what is no profile at all" do
    {"" => /it is an empty file/, "\x1f\x8b" => /gzip/, "\x28\xb5\x2f\xfd\0\0" => /packed with zstd/, "<html>" => /it is an HTML page/,
     "\x0a\x0a\0" => /not packed with gzip/, Zlib.gzip("\0") => /the number 0/, Zlib.gzip("") => /a gzip of an empty file/, GZ + GZ => /bytes follow/}.each do |bytes, pattern|
      path = write(File.join(dir, "no.pb.gz"), bytes.b)
      fails(1, /no\.pb\.gz: .*#{pattern}/, "top", path)
      fails(1, /no\.pb\.gz: .*#{pattern}/, "merge", path, "-o", File.join(dir, "merged.pb.gz"))
      assert(!File.exist?(File.join(dir, "merged.pb.gz")), "a file was written")
    end
  end
end
