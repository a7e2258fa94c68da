# frozen_string_literal: true

require "tempfile"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class PprofReaderTest < Test
  include Builds
  include HeapSample

  def written(bytes, ending = ".pb.gz")
    Tempfile.create(["heap", ending]) do |file|
      file.binmode
      file.write(bytes)
      file.flush
      yield file.path
    end
  end

  def loaded(bytes, ending = ".pb.gz", **options) = written(bytes, ending) { |path| Profile.load(path, **options) }

  # Every error names the file.
  def refused(pattern, bytes, ending = ".pb.gz", **options)
    written(bytes, ending) do |path|
      error = assert_error(FormatError, pattern) { Profile.load(path, **options) }
      assert(error.message.start_with?("#{path}: "), error.message)
    end
  end

  RAW = Builds.sample_build.raw
  PB = PprofEncoder.new(RAW).encode
  GZ = PprofEncoder.gzip(RAW)

  test "the head of a file has its settings, also where the rest is missing or damaged" do
    whole = PprofReader.read_meta(StringIO.new(GZ))
    settings = Protobuf.encode(1000 << 3 | Protobuf::BYTES).then { |tag| MetaMessage.encode(RAW[:meta]).then { |meta| tag + Protobuf.encode(meta.bytesize) + meta } }
    first = Zlib.gzip(settings + Random.bytes(1 << 20))
    assert_equal [whole] * 3, [GZ, first, first[0, 1 << 16]].map { |bytes| PprofReader.read_head(bytes, name: "it") }
    late = Zlib.gzip("\x12\x80\x80\x80\x08".b + ("\0" * (16 << 20)) + settings)
    ["", "text", Zlib.gzip("{}"), first[0, 20], late].each { |bytes| assert_error(FormatError, /\Ait: not a readable heap profile/) { PprofReader.read_head(bytes, name: "it") } }
  end

  test "a saved profile reads as it was, but for rounding" do
    [loaded(GZ), loaded(PB, ".pb"), loaded(PB, "")].each do |profile|
      assert_equal(MetaMessage.decode(MetaMessage.encode(RAW[:meta])), profile.meta)
      profile.rows.zip(sample_build.profile.rows) do |row, original|
        assert_equal([original.class_name, original.type, original.slot_size, original.thread, original.allocation_gc],
                     [row.class_name, row.type, row.slot_size, row.thread, row.allocation_gc])
        %i[inuse young alloc freed].each do |name|
          assert_equal(original.public_send(name).samples, row.public_send(name).samples)
          assert_close(original.public_send(name).objects, row.public_send(name).objects, 1e-3)
          assert_close(original.public_send(name).variance, row.public_send(name).variance, 1e-3)
        end
        assert_close(original[:freed_gcs], row[:freed_gcs], 1e-3)
        next if original.stack.empty?

        assert_equal(original.stack.map(&:to_s), row.stack.map(&:to_s))
      end
    end
  end

  test "an empty stack reads as the file's (no stack)" do
    assert_equal(["(no stack)"], loaded(GZ).rows.last.stack.map(&:label))
    assert_equal("(no stack)", loaded(GZ).groups(:line).to_a.last.key.label)
  end

  test "an allocation at GC 0 is not a missing one" do
    assert_equal(0, loaded(GZ).rows.last.allocation_gc)
    raw = Build.new.row(["a.rb:1 A#a"], "String", alloc: 3).raw
    assert_nil(loaded(PprofEncoder.gzip(raw)).rows.first.allocation_gc)
  end

  test "numbers need not be packed" do
    unpacked = loaded(PprofEncoder.new(RAW, packed: false).encode, ".pb")
    assert_equal(loaded(GZ).report.to_s, unpacked.report.to_s)
  end

  test "sample types of another program are found by name; missing ones are 0" do
    shuffled = loaded(PprofEncoder.gzip(RAW, types: PprofEncoder::TYPES.reverse, meta: nil))
    assert_equal(loaded(PprofEncoder.gzip(RAW, meta: nil)).report.to_s, shuffled.report.to_s)
    fewer = loaded(PprofEncoder.gzip(RAW, types: %w[future inuse_space inuse_objects], meta: nil))
    assert(fewer.groups(:line).total.alloc.zero?)
    assert_equal(1_346_819, fewer.groups(:line).total.inuse.objects)
  end

  test "a heap profile of another program has its totals" do
    profile = loaded(PprofEncoder.gzip(RAW, types: %w[alloc_objects alloc_space inuse_objects inuse_space], meta: nil))
    assert(profile.report.to_s.include?("54.0 MiB (interval not known) in 1,346,819 objects"), profile.report.to_s)
  end

  test "what is no heap profile is refused, with the reason" do
    refused(/it is an empty file/, "")
    refused(/it is not compressed with gzip/, PB)
    refused(/not a readable heap profile/, "<html>\n", ".pb")
    refused(/not a readable heap profile/, Zlib.gzip("[1, 2, 3]"))
    refused(/it is not a profile of a heap: its sample types are \["cpu"\]/, PprofEncoder.gzip(RAW, types: ["cpu"], meta: nil))
    refused(/its format is 4; this library reads 1: update heapsample/, PprofEncoder.gzip(sample_build("format" => 4).raw))
    refused(/its format is older than 1; take the profile again/, PprofEncoder.gzip(RAW, types: %w[inuse_space inuse_samples inuse_var], meta: nil))
    refused(/a field of its settings has the wrong type/, PprofEncoder.gzip(RAW, meta: "\x0a\x011".b))
    refused(/it ends inside a number/, PprofEncoder.gzip(RAW, meta: MetaMessage.encode(RAW[:meta])[0..-2]))
    refused(/its settings have more than 20000 entries/, PprofEncoder.gzip(RAW, meta: MetaMessage.encode(RAW[:meta]) + "\xa2\x01\x00".b * 20_000))
  end

  test "a file that is not there is the system's error" do
    assert_error(Errno::ENOENT, /nowhere.pb.gz/) { Profile.load("/nowhere.pb.gz") }
  end

  test "damage to gzip's data is found" do
    refused(/gzip(?::| data)/, GZ[0..-9])
    refused(/gzip(?::| data)/, GZ[0, 8])
    refused(/gzip(?::| data)/, GZ.dup.tap { |bytes| bytes.setbyte(-6, bytes.getbyte(-6) ^ 1) })
    refused(/bytes follow the end/, "#{GZ}more")
    refused(/bytes follow the end/, GZ + GZ)
  end

  test "a bomb is refused before it goes off" do
    bomb = Zlib.gzip("\0" * (8 << 20))
    refused(/decompresses to more than 1048576 bytes/, bomb, limit: 1 << 20)
    refused(/decompresses to more than 1000 bytes/, "\x0a\x00" * 600, ".pb", limit: 1000)
  end

  test "so many small messages are refused" do
    old = PprofReader::ENTRIES_MAX
    PprofReader.send(:remove_const, :ENTRIES_MAX)
    PprofReader.const_set(:ENTRIES_MAX, 10)
    refused(/more than 10 entries/, "\x32\x00" * 11, ".pb")
  ensure
    PprofReader.send(:remove_const, :ENTRIES_MAX)
    PprofReader.const_set(:ENTRIES_MAX, old)
  end

  # Damaged bytes either read as some profile, all of whose parts can be used, or
  # are refused; nothing else is raised, and nothing takes long.
  def survives(bytes, ending)
    profile = loaded(bytes, ending)
    profile.report.to_s
    profile.rows.each { |row| row.stack.each(&:to_s) }
    profile.inspect
    (profile - sample_build.profile).report.to_s
    profile
  rescue FormatError
    nil
  rescue ArgumentError => e
    raise unless e.message.include?("was taken after")
  end

  test "cut at any byte, a gzip file is refused" do
    (0...GZ.bytesize).each { |length| assert(survives(GZ[0, length], ".pb.gz").nil?, "#{length} bytes were read") }
  end

  test "cut at any byte, an unpacked file is refused" do
    strings_used = PB.index("(no stack)")         # the last string, which the last row needs
    (0...strings_used).each { |length| assert(survives(PB[0, length], ".pb").nil?, "#{length} bytes were read") }
  end

  # Every fifth bit; SLOW=1: all bits.
  test "with any bit flipped, a gzip file is refused or reads the same" do
    report = loaded(GZ).report.to_s
    (0...GZ.bytesize * 8).step(SLOW ? 1 : 5) do |bit|
      bytes = GZ.dup.tap { |copy| copy.setbyte(bit / 8, copy.getbyte(bit / 8) ^ (1 << bit % 8)) }
      profile = survives(bytes, ".pb.gz")
      assert_equal(report, profile.report.to_s) if profile
    end
  end

  # A bit of every sixteenth byte; SLOW=1: all bits.
  test "with any bit flipped, an unpacked file is refused or can be used" do
    (0...PB.bytesize * 8).step(SLOW ? 1 : 127) do |bit|
      survives(PB.dup.tap { |copy| copy.setbyte(bit / 8, copy.getbyte(bit / 8) ^ (1 << bit % 8)) }, ".pb")
    end
  end

  test "random damage is refused or can be used" do
    random = Random.new(1)
    (SLOW ? 20_000 : 500).times do
      bytes = PB.dup
      random.rand(1..8).times do
        at = random.rand(bytes.bytesize)
        case random.rand(3)
        when 0 then bytes.setbyte(at, random.rand(256))
        when 1 then bytes = bytes[0, at] + random.bytes(random.rand(1..12)) + bytes[at..]
        else bytes = bytes[0, at] + bytes[[at + random.rand(1..20), bytes.bytesize].min..]
        end
      end
      survives(bytes, ".pb")
    end
  end

  test "random bytes are refused" do
    random = Random.new(2)
    500.times { survives(random.bytes(random.rand(1..200)), ".pb") }
  end
end
