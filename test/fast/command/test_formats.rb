# frozen_string_literal: true

# Files that the sampler writes, and those that the library writes of the same snapshot.

require_relative "processes"

class FormatsTest < Test
  include CommandHelper
  include SampledWork

  # The sampler's own encoders and ours, of the same snapshot.
  def written_twice(dir, settings)
    script = "#{WORK}\nrequire 'heapsample'\nsnapshot = GC.sample_profile\n" \
             "formats = %w[pb folded json]\nformats.each { |format| snapshot.save(\"\#{ARGV[0]}/c.\#{format}\") }\n" \
             "formats.each { |format| snapshot.to_profile.save(\"\#{ARGV[0]}/r.\#{format}\") }\n" \
             "formats.each { |format| GC::SampleProfile.load(\"\#{ARGV[0]}/c.pb\").save(\"\#{ARGV[0]}/l.\#{format}\") }"
    out, status = Open3.capture2e({**CLEAN, "RUBY_HEAP_SAMPLE" => "#{settings},output=#{dir}/exit.pb.gz"}, OURS, "--disable=gems",
                                  *"-I", "src/lib", "-e", script, dir)
    flunk(out) unless status.success?
  end

  # All that a file of pprof has of a profile, but for the order of its rows.
  def said_by(path) = HeapSample::Profile.load(path).then { |profile| [profile.meta, profile.rows.map { |row| row.to_h.inspect }.sort] }

  test "of a snapshot of slots all formats say what the sampler writes" do
    written_twice(dir, "interval=4k,malloc=off")
    assert_equal(*%w[c r].map { |name| said_by(in_dir("#{name}.pb")) })
    %w[folded json].each { |format| assert(File.binread(in_dir("c.#{format}")) == File.binread(in_dir("r.#{format}")), format) }
    printed("convert", in_dir("c.pb"), "-o", in_dir("again.pb"))
    assert(File.binread(in_dir("c.pb")) == File.binread(in_dir("again.pb")), "a file, read and written")
    printed("convert", in_dir("c.pb"), "-o", in_dir("again.pb.gz"))
    assert(Zlib.gunzip(File.binread(in_dir("again.pb.gz"))) == File.binread(in_dir("c.pb")))
  end

  # A file rounds the figures of each row, so that the sum of many differs by half of one for each.
  test "a loaded profile saves what it was saved from" do
    written_twice(dir, "interval=4k,malloc=off")
    assert(File.binread(in_dir("c.pb")) == File.binread(in_dir("l.pb")))
    live, loaded = %w[c l].map { |name| File.readlines(in_dir("#{name}.folded")).to_h { |line| line.chomp.rpartition(" ").values_at(0, 2) } }
    assert_equal(live.keys.sort, loaded.keys.sort)
    rounding = HeapSample::Profile.load(in_dir("c.pb")).table.map { |row| row[HeapSample::Columns::STACK] }.tally.values.max / 2.0
    alike = ->(one, other) { assert((one - other).abs <= [rounding, 1e-4 * one].max, "#{one} and #{other}, at most #{rounding} apart") }
    live.each { |stack, value| alike[value.to_f, loaded[stack].to_f] }
    live, loaded = %w[c l].map { |name| JSON.parse(File.read(in_dir("#{name}.json")))["profiles"].map { |profile| profile["weights"].sort } }
    assert_equal(live.map(&:size), loaded.map(&:size))
    live.flatten.zip(loaded.flatten) { |one, other| alike[one, other] }
  end

  test "with malloc they do, too" do
    written_twice(dir, "interval=64k")
    %w[folded json].each { |format| assert(File.binread(in_dir("c.#{format}")) == File.binread(in_dir("r.#{format}")), format) }
    assert_equal(*%w[c r].map { |name| said_by(in_dir("#{name}.pb")) })
  end
end
