# frozen_string_literal: true

require_relative "../../testing"
require_relative "recipe"
require "rbconfig"
require "tmpdir"

# The recipes for a report, a command and a column, followed word for word. test/all/recipes follows those that need a build.
class RecipesTest < Test
  RECIPES = {
    "a report" => ["report.patch", "sizes"], "a command" => ["command.patch", "taken"], "a column to a row" => ["column.patch", "NAME"]
  }.to_h { |title, (patch, name)| [title, Recipe.new(title, "#{__dir__}/#{patch}", name: name)] }

  COPIED = %w[src/lib src/heap_sampler sig doc test/testing.rb test/check/library].freeze

  # Calls the block with a copy of the library in which the recipe was followed.
  def follow(title)
    Dir.mktmpdir do |dir|
      COPIED.each do |path|
        FileUtils.mkdir_p(File.dirname("#{dir}/#{path}"))
        FileUtils.cp_r("#{Recipe::TOP}/#{path}", "#{dir}/#{path}")
      end
      assert_nil RECIPES.fetch(title).follow(dir)
      yield dir
    end
  end

  # What a program prints that has the library of +dir+, and a profile in the file of ARGV.
  def printed(dir, program)
    out, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I", "#{dir}/src/lib", "-I", "#{dir}/test/check/library", "-e", <<~RUBY, chdir: dir)
      require "heapsample/tool"
      require "builds"
      profile = Builds.sample_build.profile
      #{program}
    RUBY
    assert status.success?, out
    out
  end

  # The tests that check a declaration pass in +dir+.
  def assert_passes(dir, *files)
    out, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I", "src/lib", "test/testing.rb", *files, chdir: dir)
    assert status.success?, out.lines.grep_v(/\Aok/).join
  end

  RECIPES.each do |title, recipe|
    test "the recipe for #{title} names at most #{Recipe::PLACES} places, and all that are changed" do
      assert_includes 1..Recipe::PLACES, recipe.steps.size
      assert_equal [], recipe.places.select(&:empty?)
      assert_equal [], recipe.unnamed
    end
  end

  test "no recipe has more than #{Recipe::PLACES} steps" do
    assert_equal ["a report", "a command", "a column to a row", "a setting", "a key to stat", "a hook"], Recipe.all
    assert_equal [], Recipe.all.reject { |title| Recipe.new(title, "").steps.size.between?(1, Recipe::PLACES) }
  end

  test "a report that was added is a method of a profile, with a text, types and a row in the manual" do
    follow("a report") do |dir|
      assert_match(/\ALive memory by the size of the slots\n(\d+ B: .*\n?)+\z/, printed(dir, "puts profile.sizes.text(width: 80).lines"))
      assert_passes(dir, "test/check/library/test_reports.rb")
    end
  end

  test "a command that was added is listed, has help and runs" do
    follow("a command") do |dir|
      out = printed(dir, 'profile.save("a.pb.gz"); %w[--help taken\ --help taken\ a.pb.gz].each { |line| HeapSample::Tool::CLI.new(line.split).run }')
      assert_match(/^ +taken +show when a profile was taken$/, out)
      assert_match(/^Usage: heapsample taken FILE$/, out)
      assert_match(/^2026-\d\d-\d\d .* UTC$/, out)
    end
  end

  test "a column that was added is written, read and added up, and the declarations agree" do
    follow("a column to a row") do |dir|
      assert_equal "[7, 7]\n", printed(dir, <<~'RUBY')
        profile.table.each { |row| row[HeapSample::Columns::IN_LARGE_SLOTS] = 7 }
        profile.save("a.pb.gz")
        again = HeapSample::Profile.load("a.pb.gz")
        p [again.rows.first[:in_large_slots], again.rows.last.to_h[:in_large_slots]]
      RUBY
      assert_passes(dir, "test/check/library/test_columns.rb", "-n", "/page|same figures/")
    end
  end

  # test/all/recipes builds with them, which takes minutes.
  test "the patches of the other recipes still fit" do
    patches = Dir.glob("#{Recipe::TOP}/test/all/recipes/*.patch")
    refute_empty patches
    patches.each do |patch|
      out, status = Open3.capture2e("patch", "--dry-run", "-p1", "-s", "-F0", "-i", patch, chdir: Recipe::TOP)
      assert_predicate status, :success?, out
    end
  end
end
