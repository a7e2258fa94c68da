# frozen_string_literal: true

# The Ruby half of GC::SampleProfile, over a stand-in for the half in C.

require "json"
require "pp"
require "stringio"
require "tempfile"
require "tmpdir"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

GC.send(:remove_const, :SampleProfile) if GC.const_defined?(:SampleProfile)

class GC::SampleProfile
  OBJECTS = {7 => "an object"}.freeze

  def self.object_of(id) = OBJECTS[id]

  attr_reader :raw

  def initialize(raw) = @raw = raw.merge(meta_message: HeapSample::MetaMessage.encode(raw[:meta]))

  # In C: pprof alone.
  private def raw_save(path) = File.binwrite(path, "in C")

  def raw_samples
    text = ->(name) { raw[:texts].index(name) }
    [[7, 3, text["String"], text["T_STRING"], 40, 13_107.7, 20, 80, 1024, false, 1],
     [8, 0, text["Object"], text["T_OBJECT"], 40, 13_107.7, 100, 0, nil, true, 2]]
  end
end

require "heapsample/sample_profile"

class SampleProfileTest < Test
  include Builds

  def sampled = GC::SampleProfile.new(sample_build.raw)

  test "a snapshot has the report of its profile" do
    assert_equal(sample_build.profile.report(by: :class, top: 2).to_s, sampled.report(by: :class, top: 2).to_s)
    assert_equal(5, sampled.rows.size)
  end

  test "a snapshot writes pprof files in C, and all else as its profile does" do
    Dir.mktmpdir do |dir|
      %w[pb.gz pb].each { |name| assert_equal([4, "in C"], [sampled.save("#{dir}/x.#{name}"), File.binread("#{dir}/x.#{name}")]) }
      %w[folded json].each do |name|
        bytes = HeapSample::Formats.encode(sampled.to_profile, name)
        assert_equal([bytes.bytesize, bytes], [sampled.save("#{dir}/x.#{name}"), File.binread("#{dir}/x.#{name}")])
      end
      sampled.save(io = StringIO.new("".b))
      assert_equal(HeapSample::Formats.encode(sample_build.profile, "pb.gz"), io.string)
      assert_error(ArgumentError, /must end with/) { sampled.save("#{dir}/x.txt") }
    end
  end

  test "a snapshot has the reports of its profile" do
    profile = sample_build.profile
    reports = HeapSample::Reports.public_instance_methods(false)
    # The stand-in's meta data lacks the settings, which only `about` prints.
    (reports - [:about]).each { |name| assert_equal(profile.public_send(name).to_s, sampled.public_send(name).to_s) }
    assert_equal(profile.about.counts, sampled.about.counts)
    assert_equal([HeapSample::Reports], reports.map { |name| GC::SampleProfile.instance_method(name).owner }.uniq)
    assert_equal(profile.top(by: :class).to_s, sampled.top(by: :class).to_s)
    assert_equal(profile.filter(class: "String").report.to_s, sampled.filter(class: "String").report.to_s)
    assert_equal(0, HeapSample::Retained.new(sampled, sampled, sampled).count)
  end

  test "inspect is one line, pp a short table" do
    line = "#<GC::SampleProfile 114 samples, 54.0 MiB live, 3.0 MiB young, one per 512 KiB, at GC 100>"
    assert_equal(line, sampled.inspect)
    assert_equal(sample_build.profile.top.text.lines(5), sampled.pretty_inspect.lines(chomp: true))
  end

  test "inspect says how much of it malloc gave" do
    build = sample_build.malloc(["!/usr/lib/libfoo.so foo", "/srv/app/main.rb:3 <main>"], "libfoo.so", 1 << 24, inuse: 4)
    assert(GC::SampleProfile.new(build.raw).inspect.include?(" 118.0 MiB live (64.0 MiB from malloc), 3.0 MiB young,"))
  end

  test "a report can be of one kind" do
    assert_equal(sample_build.profile.report(kind: :slots).to_s, sampled.report(kind: :slots).to_s)
  end

  test "a sample tells what it is and where it came from" do
    sample = sampled.samples.first
    assert((sample in {class: "String", slot_size: 40, age: 80, young: false, locations: [String, *]}), sample.to_h.inspect)
    assert_equal(["String", "T_STRING", 40, 1024, 13_107.7, 80, 20, false, 1],
                 [sample.class_name, sample.type, sample.slot_size, sample.memsize, sample.weight, sample.age, sample.allocation_gc,
                  sample.young?, sample.thread])
    location = sample.locations[1]
    assert_equal(["/srv/app/models/x.rb", 12, "block in Foo#bar"], [location.path, location.lineno, location.label])
    assert(location.is_a?(GC::SampleProfile::Location))
    assert(sample.inspect.include?("String 40 B, weight 13107.7, age 80"), sample.inspect)
  end

  test "a sample's object is what the VM gives, or nil" do
    assert_equal(["an object", nil], sampled.samples.map(&:object))
    assert(sampled.samples.last.young?)
    assert_equal([], sampled.samples.last.locations)
  end

  test "snapshots subtract from each other and from profiles" do
    assert_close(0, (sampled - sampled).total.space)
    assert_close(0, (sampled - sample_build.profile).total.space)
    assert_error(ArgumentError, /nil|NilClass/) { sampled - nil }
  end

  test "load reads a saved profile" do
    Tempfile.create(["heap", ".pb.gz"]) do |file|
      file.binmode
      file.write(PprofEncoder.gzip(sample_build.raw))
      file.flush
      assert_equal(5, GC::SampleProfile.load(file.path).rows.size)
    end
  end
end
