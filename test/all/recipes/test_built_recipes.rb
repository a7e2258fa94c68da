# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../check/recipes/recipe"
require "tmpdir"

# The recipes for a column, a setting, a key of stat and a hook, followed at once in a copy, which is built.
class BuiltRecipesTest < Test
  RECIPES = {
    "a column to a row" => "../../check/recipes/column.patch", "a setting" => "setting.patch", "a key to stat" => "stat.patch", "a hook" => "hook.patch"
  }.to_h { |title, patch| [title, Recipe.new(title, File.expand_path(patch, __dir__))] }
  # What the build needs. The copy is mounted where the original is, since a build has absolute paths.
  COPIED = %w[patches sig src doc tool upstream build/3.4 build/distfiles build/jemalloc-5.3.1].freeze
  MOUNTED = 'mount --make-rprivate / && mount --bind "$0" "$1" && cd "$1" && shift && exec "$@"'
  HERE = Recipe::TOP

  # The folder of the copy, once it is built; and what went wrong, or nil.
  def self.built
    @built ||= Dir.mktmpdir("recipes", "#{HERE}/build").then do |dir|
      at_exit { FileUtils.rm_rf(dir) }
      COPIED.select { |path| File.exist?("#{HERE}/#{path}") }.each do |path|
        FileUtils.mkdir_p(File.dirname("#{dir}/#{path}"))
        system("cp", "-a", "#{HERE}/#{path}", "#{dir}/#{path}", exception: true)
      end
      wrong = RECIPES.each_value.filter_map { |recipe| recipe.follow(dir) }
      out, status = wrong.empty? ? within(dir, "tool/build") : [wrong.join, nil]
      [dir, (out unless status&.success?)]
    end
  end

  def self.within(dir, *command) = Open3.capture2e({"RUBY_HEAP_SAMPLE" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil}, "unshare", "-m", "sh", "-c", MOUNTED, dir, HERE, *command)

  NEEDS = ("no mount of its own: run it as root" unless system("unshare", "-m", "true", err: File::NULL))

  def ruby(*arguments)
    dir, wrong = self.class.built
    assert_nil wrong
    self.class.within(dir, "#{HERE}/build/3.4/prefix/bin/ruby", *arguments).first
  end

  RECIPES.each do |title, recipe|
    test "the recipe for #{title} names all places that are changed" do
      assert_equal [], recipe.unnamed
    end
  end

  test "a setting that was added is read, refused and listed, and start takes it", missing: NEEDS do
    assert_match(/tempo=101: must be a number from 1 to 100/, ruby("--heap-sample=tempo=101", "-e", ""))
    assert_match(/^ +tempo=number +A number that stat has/, ruby("--help"))
    assert_equal "true\n", ruby("-e", "p GC::SampleProfile.start(tempo: 7, output: 'none')")
    assert_match(/tempo=0: must be a number from 1 to 100 \(ArgumentError\)/, ruby("-e", "GC::SampleProfile.start(tempo: 0)"))
  end

  test "a key that was added is in stat", missing: NEEDS do
    assert_equal "[1, 2]\n", ruby("-e", "p Array.new(2) { GC::SampleProfile.stat[:stats] }")
  end

  test "a hook that was added is called", missing: NEEDS do
    assert_equal "[nil, true]\n", ruby("-e", "p [$heap_sampler_counted, GC.count && $heap_sampler_counted]")
  end

  test "a column that was added is the same in a snapshot and in its file", missing: NEEDS do
    snapshot, file = ruby("-e", <<~'RUBY', "#{HERE}/build/column.pb.gz").lines(chomp: true).map(&:to_f)
      GC::SampleProfile.start(interval: 1, output: "none")
      kept = Array.new(100) { Class.new.new.tap { |one| 70.times { |i| one.instance_variable_set("@i#{i}", i) } } } + Array.new(100) { "x" * 600 }
      profile = GC.sample_profile(full_gc: true)
      profile.save(ARGV[0])
      [profile.to_profile, GC::SampleProfile.load(ARGV[0])].each { |one| puts one.rows.sum { |row| row[:in_large_slots] } }
    RUBY
    assert_operator snapshot, :>=, 100 * 640
    assert_in_delta snapshot, file, 1
  end
end
