# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../gems"
RADAR_OUT = set_up_gems(__dir__)
require_relative "radar"

class RadarTest < Test
  def headers(folder) = "#{Gem.loaded_specs.fetch("datadog-ruby_core_source").full_gem_path}/lib/datadog/ruby_core_source/#{folder}"

  def known(release) = File.readlines("#{__dir__}/known-#{release}", chomp: true).grep_v(/\A(#|\z)/).sort

  shared(:ruby_4_0) { |share| share.call(Radar.new("#{RADAR_OUT}/4.0.6", headers("ruby-4.0.6-p0"), "4.0.6")) }

  test "the overlay compiles against the internal headers of 4.0.6, except for what known-4.0.6 lists" do
    note "#{ruby_4_0.files.size} files"
    assert_equal known("4.0.6"), ruby_4_0.errors
  end

  test "all files of objects.mk are compiled" do
    objects = File.read("#{TOP}/src/heap_sampler/objects.mk").scan(%r{heap_sampler/\S+(?=\.\$\(OBJEXT\))})
    assert_equal objects.sort, ruby_4_0.files.map { |file| file.delete_suffix(".c") }
  end

  test "a member that 4.0 has no more is found" do
    File.write("#{ruby_4_0.tree}/heap_sampler/planted.c", <<~C)
      #include "heap_sampler/mri.h"
      VALUE planted(const rb_vm_t *vm) { return vm->load_path; }
    C
    errors = ruby_4_0.errors(["heap_sampler/planted.c"])
    assert_equal 1, errors.size, errors.join("\n")
    assert_match(/planted\.c: .*no member named 'load_path'/, errors.first)
  ensure
    FileUtils.rm_f("#{ruby_4_0.tree}/heap_sampler/planted.c")
  end

  test "the same flags find nothing in 3.4" do
    assert_empty Radar.new("#{RADAR_OUT}/3.4").errors
  end
end
