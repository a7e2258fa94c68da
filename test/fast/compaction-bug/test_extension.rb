# frozen_string_literal: true

# An extension that loses its references, which seeds.rb describes.

require_relative "bug"

class ExtensionTest < BugTest
  STOCK = ENV.fetch("STOCK_RUBY", nil)
  # The name, the Ruby, its options, and the sampler's settings.
  RUNS = [["off", RbConfig.ruby, [], nil], ["on", RbConfig.ruby, [], EXACT], ["yjit", RbConfig.ruby, ["--yjit"], EXACT], *([["stock", STOCK, [], nil]] if STOCK)].freeze

  # The folder of the extension for a Ruby.
  def self.compiled(ruby)
    @compiled ||= {}
    @compiled[ruby] ||= FileUtils.mkdir_p("#{OUT}/#{ruby == STOCK ? "stock" : "patched"}").first.tap do |folder|
      [[ruby, "#{__dir__}/careless/extconf.rb"], %w[make]].each { |command| system(*command, chdir: folder, out: File::NULL, exception: true) }
    end
  end

  def run_seed(ruby, options, settings, *seed)
    ended(ruby, *options, "-I", self.class.compiled(ruby), "#{__dir__}/seeds.rb", *seed, settings: settings)
  end

  # With the sampler on, off, and on the unpatched Ruby most of a hundred objects become what is wanted, and with the sampler
  # the line of what is there is right: else seeds.rb prints a warning. (The VM's own objects take some slots, how many differs
  # with the environment: 76 to 100 were, sampler on or off.)
  def assert_all_become(wanted, *seed)
    RUNS.each do |name, *how|
      one = run_seed(*how, *seed)
      assert_equal [name, 0, "", wanted], [name, one.status, one.err, one.out[/\A\S+/]], one.out
      assert_operator one.out[/\d+/].to_i, :>=, 60
    end
  end

  {
    "a global that is not registered: the object is freed" => %w[freed global gc],
    "a global that is not registered: another object is in its place, and the profile names its line" => %w[Intruder global reuse],
    "marked as movable, never updated: it has moved, and its place is free" => %w[freed movable compact],
    "marked as movable, never updated: another object is in its place, and the profile names its line" => %w[Intruder movable compact-reuse],
    "marked as movable: nothing is lost while nothing moves" => %w[Original movable gc],
    "no write barrier: a minor GC frees what an old object refers to" => %w[freed barrier minor],
    "no write barrier: another object is in its place, and the profile names its line" => %w[Intruder barrier reuse],
    "taken over in a free function: it is freed too" => %w[freed dying gc],
    "taken over in a free function: another object is in its place" => %w[Intruder dying reuse],
    "marked correctly: it stays where it is" => %w[Original marked compact],
  }.each { |name, seed| test(name) { assert_all_become(*seed) } }

  {"marking what was freed is a [BUG], as without the sampler" => %w[global gc],
   "marking where something has moved from is a [BUG], as without the sampler" => %w[movable compact]}.each do |name, seed|
    test(name) do
      all = RUNS.reject { |run,| run == "yjit" }.to_h { |run, *how| [run, run_seed(*how, *seed, "die")] }
      refute_nil all["off"].bug, "it does not crash: #{all["off"].out}"
      all.each { |run, one| assert_equal [run, all["off"].bug, all["off"].status, true], [run, one.bug, one.status, one.reported?] }
    end
  end
end
