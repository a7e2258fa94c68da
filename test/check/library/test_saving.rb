# frozen_string_literal: true

# A profile, saved and read again.

require "json"
require "pathname"
require "stringio"
require "tmpdir"
require "zlib"
require_relative "../../testing"
require_relative "builds"

class SavingTest < Test
  include Builds
  include HeapSample

  def saved_and_loaded(profile)
    Profile.load(StringIO.new(Formats.encode(profile, "pb.gz")), name: "again")
  end

  def in_folder(&block) = Dir.mktmpdir(&block)

  test "folded stacks, byte for byte: root first, names without what would end a frame or a line" do
    build = Build.new(interval: 1)
                 .row(["a.rb:2 A#b;c", "a.rb:1 <main>"], "String", slot: 40, inuse: 3)
                 .row(["a.rb:2 A#b;c", "a.rb:1 <main>"], "Array", slot: 40, inuse: 1)
                 .row(["x\u2028y\nz.rb:0 <top (required)>"], "String", slot: 80, inuse: 1)
                 .row(["a.rb:1 <main>"], "String", slot: 40, young: 9, alloc: 9)
                 .row([], "Object", slot: 40, inuse: 1)
    build.blocks(["!/usr/lib/libfoo.so foo_new", "a.rb:1 <main>"], "libfoo.so", 1 << 30, inuse: 1)
    assert_equal(<<~FOLDED, Formats.encode(build.profile, "folded").force_encoding("UTF-8"))
      (no stack) 40
      <main> (a.rb:1);A#b,c (a.rb:2) 160
      <top (required)> (x\\u2028y\\nz.rb) 80
      <main> (a.rb:1);foo_new (libfoo.so) 1073741824
    FOLDED
  end

  test "speedscope: each frame once, and a profile of each value" do
    text = Formats.encode(sample_build.profile, "json")
    head = "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"heap_sampler\",\"name\":\"Ruby heap of process 4711\"," \
           "\"activeProfileIndex\":0,\n\"heap_sampler\":{\"format\":1,"
    assert(text.start_with?(head.b), text[0, 200])
    json = JSON.parse(text)
    assert_equal(%w[inuse_space inuse_objects alloc_space alloc_objects malloc_inuse_space slots_inuse_space], json["profiles"].map { |profile| profile["name"] })
    assert_equal({"name" => "(no stack)"}, json["shared"]["frames"].last)
    assert_equal({"name" => "<main>", "file" => "/srv/app/main.rb", "line" => 3}, json["shared"]["frames"].first)
    json["profiles"].each do |profile|
      assert_equal(profile["endValue"], profile["weights"].sum)
      assert_equal(sample_build.profile.top(value: profile["name"], by: :class).total.public_send(profile["name"].end_with?("space") ? :space : :objects).round,
                   profile["weights"].sum) if profile["name"].start_with?("inuse")
    end
  end

  # Stack, by names, => weight of each profile in a speedscope file.
  def by_stack(text)
    json = JSON.parse(text)
    json["profiles"].to_h do |profile|
      stacks = profile["samples"].map { |stack| stack.map { |frame| json["shared"]["frames"][frame] } }
      [profile["name"], stacks.zip(profile["weights"]).sort_by(&:inspect)]
    end
  end

  test "a profile that was loaded saves what the one that was saved does" do
    [sample_build, malloc_build, Build.new].each do |build|
      live, loaded = build.profile, saved_and_loaded(build.profile)
      assert_equal(Formats.encode(live, "pb"), Formats.encode(loaded, "pb"))
      assert_equal(Formats.encode(live, "pb.gz"), Formats.encode(loaded, "pb.gz"))
      assert_equal(*[live, loaded].map { |profile| Formats.encode(profile, "folded").lines.sort })
      assert_equal(*[live, loaded].map { |profile| by_stack(Formats.encode(profile, "json")) })
    end
  end

  test "save writes what the path's end says, or what it is told, and returns how much" do
    profile = saved_and_loaded(sample_build.profile)
    in_folder do |dir|
      (Formats::NAMES - ["html"]).each do |name|
        path = "#{dir}/x.#{name}"
        assert_equal(Formats.encode(profile, name).bytesize, profile.save(path))
        assert_equal(Formats.encode(profile, name), File.binread(path))
        assert_equal(0o600, File.stat(path).mode & 0o777)
      end
      assert_equal(Zlib.gunzip(File.binread("#{dir}/x.pb.gz")), File.binread("#{dir}/x.pb"))
      profile.save(Pathname(dir) + "heap.txt", format: :folded)
      assert_equal(File.binread("#{dir}/x.folded"), File.binread("#{dir}/heap.txt"))
    end
  end

  test "save writes to an IO: pprof with gzip unless told otherwise" do
    profile = sample_build.profile
    io = StringIO.new("".b)
    size = profile.save(io)
    assert_equal([Formats.encode(profile, "pb.gz"), size], [io.string, io.string.bytesize])
    read, write = IO.pipe
    size = profile.save(write, format: "json")
    write.close
    text = read.read
    assert_equal([Formats.encode(profile, "json"), size], [text.b, text.bytesize])
  end

  test "what cannot be saved is an ArgumentError, and leaves no file" do
    profile = sample_build.profile
    in_folder do |dir|
      assert_error(ArgumentError, /must end with \.pb\.gz, \.pb, \.folded, \.json or \.html: .*x\.txt\z/) { profile.save("#{dir}/x.txt") }
      assert_error(ArgumentError, /no such format: :pdf; use one of pb\.gz, /) { profile.save("#{dir}/x.pb", format: :pdf) }
      assert_error(ArgumentError, /unknown keyword: :title/) { profile.save("#{dir}/x.pb", title: "x") }
      assert_error(ArgumentError, /null byte/) { profile.save("#{dir}/a\0b.pb") }
      assert_error(TypeError, //) { profile.save(1) }
      assert_error(Errno::ENOENT, //) { profile.save("#{dir}/none/x.pb.gz") }
      assert_error(ArgumentError, /must end with .html: .*x.pb.gz/) { (profile - profile).save("#{dir}/x.pb.gz") }
      assert_equal([], Dir.children(dir))
    end
  end

  test "to_pprof is what save writes" do
    profile = sample_build.profile
    io = StringIO.new("".b)
    bytes = profile.save(io)
    assert_equal([bytes, io.string], [profile.to_pprof.bytesize, profile.to_pprof])
    assert_equal(profile.table.size, Profile.load(StringIO.new(profile.to_pprof)).table.size)
  end
end
