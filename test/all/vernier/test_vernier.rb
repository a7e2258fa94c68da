# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../gems"
VERNIER_OUT = set_up_gems(__dir__)

class VernierTest < Test
  def ran(*command, **options)
    said, status = Open3.capture2e(*command, **options)
    assert(status.success?, said)
    said
  end

  shared(:vernier) do |share|
    copy = "#{VERNIER_OUT}/patched"
    FileUtils.rm_rf(copy)
    FileUtils.cp_r(Gem.loaded_specs.fetch("vernier").full_gem_path, copy)
    ran("patch", "-p1", stdin_data: File.read("#{TOP}/examples/vernier/heap_sampler.patch"), chdir: copy)
    extension = "#{copy}/ext/vernier"
    FileUtils.rm_f(Dir["#{extension}/{Makefile,*.o,*.so}"])
    [[RbConfig.ruby, "extconf.rb"], %w[make]].each { |command| ran(*command, chdir: extension) }
    FileUtils.cp("#{extension}/vernier.so", "#{copy}/lib/vernier/")
    share.call(copy)
  end

  shared(:counts) do |share|
    share.call(ran({"BUNDLE_GEMFILE" => nil, "RUBYOPT" => nil}, "timeout", "60", RbConfig.ruby, "-I", "#{vernier}/lib", "#{__dir__}/allocations.rb").split.map(&:to_i))
  end

  # Six standard errors of 3,000 and of 2,000 samples' worth, where each counts one in a hundred.
  test "the patch fits it, it compiles, and its allocation profile is what was allocated, within chance" do
    leaves, texts, = counts
    assert_in_delta 3000, leaves, 330
    assert_in_delta 2000, texts, 270
  end

  # As its own tests want it.
  test "below 100 it records each N-th allocation, as published" do
    assert_in_delta 101, counts.last, 1
  end
end
