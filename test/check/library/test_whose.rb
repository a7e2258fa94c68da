# frozen_string_literal: true

require "json"
require_relative "../../testing"
require_relative "builds"

class WhoseTest < Test
  include Builds
  include HeapSample

  GEMS = "/usr/local/bundle/ruby/3.4.0"
  PUMA = "#{GEMS}/gems/puma-6.4.2/lib/puma/server.rb:9 Puma::Server#run"
  APP_LINE = "/srv/shop/app/models/order.rb:12 Order#total"
  STUB = "/usr/local/bin/puma"
  LOADERS = ["/usr/local/lib/ruby/3.4.0/bundled_gems.rb:69 Kernel#require", "/usr/local/lib/ruby/3.4.0/bundled_gems.rb:69 block (2 levels) in Kernel#replace_require",
             "#{GEMS}/gems/bootsnap-1.18.3/lib/bootsnap/load_path_cache/core_ext/kernel_require.rb:30 Kernel#require",
             "#{GEMS}/gems/zeitwerk-2.6.13/lib/zeitwerk/core_ext/kernel.rb:34 Kernel#require"].freeze

  def of_shop(*stacks, **meta)
    build = Build.new("directory" => "/srv/shop", **meta)
    stacks.each_with_index { |stack, index| build.row(stack, "String", inuse: 50 - index, at_gc: 1) }
    build.profile
  end

  def owner_of(*stack, by: :app) = of_shop(stack).groups(by).first.key.then { |key| key.is_a?(Place) ? "#{key.path}:#{key.line}" : key }

  test "whose a file is" do
    shop = ["/srv/shop"]
    {
      "/srv/shop/app/models/order.rb" => "(app)", "/srv/shop/vendor/bundle/ruby/3.4.0/gems/rack-3.1.7/lib/rack.rb" => "rack-3.1.7",
      "/srv/shop/vendor/bundle/ruby/3.4.0/bin/puma" => "(ruby)", "/srv/shop/shop.gemspec" => "(ruby)", "/srv/shop/Gemfile" => "(ruby)",
      "#{GEMS}/specifications/rack-3.1.7.gemspec" => "(ruby)", "/usr/local/bin/puma" => "(ruby)", "/srv/shop/bin/work" => "(app)",
      "/srv/engines/pay/lib/pay.rb" => "(app)", "/usr/local/lib/ruby/3.4.0/json/common.rb" => "(ruby)", "(eval at /srv/shop/x.rb:3)" => "(app)"
    }.each { |path, owner| assert_equal([path, owner], [path, GemName.of(path, shop)]) }
    assert_equal("(app)", GemName.of("/src/gems/pay-1.0/lib/pay.rb", ["/src/gems/pay-1.0"]))
    assert_equal("rack-3.1.7", GemName.of("/gems/rack-3.1.7/lib/rack.rb", ["/"]))
  end

  test "require charges the line that asked for the file, whoever answers it" do
    loaded = "#{GEMS}/gems/rails-7.1.3/lib/rails.rb:5 <top (required)>"
    boot = "/srv/shop/config/application.rb:3 <top (required)>"
    assert_equal([loaded[/\A\S+/]] * 2, [owner_of(*LOADERS, loaded, boot, by: :line), owner_of(*LOADERS.first(1), loaded, by: :line)])
    assert_equal(["rails-7.1.3", boot[/\A\S+/]], [owner_of(*LOADERS, loaded, boot, by: :gem), owner_of(*LOADERS, loaded, boot)])
    assert_equal([boot[/\A\S+/], "(app)"], [owner_of(*LOADERS, boot, by: :line), owner_of(*LOADERS, boot, by: :gem)])
    assert_equal(LOADERS[0][/\A\S+/], owner_of(*LOADERS.first(2), by: :line))
  end

  test "the application is what lies below the working directory, and no file that only starts a gem" do
    start = ["#{STUB}:25 Kernel#load", "#{STUB}:25 <main>"]
    assert_equal(PUMA[/\A\S+/], owner_of(PUMA, *start))
    assert_equal(PUMA[/\A\S+/], owner_of(PUMA, "/srv/shop/bin/puma:25 Kernel#load", "/srv/shop/bin/puma:25 <main>"))
    assert_equal("/srv/shop/bin/work:7", owner_of(PUMA, "/srv/shop/bin/work:7 <main>"))
    assert_equal("/srv/shop/app/models/order.rb:12", owner_of("/srv/engines/pay/lib/pay.rb:3 Pay.now", APP_LINE, *start))
    assert_equal("/srv/engines/pay/lib/pay.rb:3", owner_of("/srv/engines/pay/lib/pay.rb:3 Pay.now", *start))
  end

  test "the application is what lies below the folder of the Gemfile, too, wherever the process runs" do
    of = ->(**meta) { of_shop([PUMA, "/opt/tools/run.rb:1 <main>", APP_LINE], "directory" => "/", **meta).groups(:app).first.key.then { |key| "#{key.path}:#{key.line}" } }
    assert_equal("/opt/tools/run.rb:1", of.call)
    assert_equal("/srv/shop/app/models/order.rb:12", of.call("gemfile" => "/srv/shop"))
  end

  test "a row of a gem names the application's line that led to most of it; one of the application does not" do
    first = of_shop([PUMA, APP_LINE], [PUMA, "/srv/shop/app/rare.rb:1 Rare#call"], [APP_LINE])
    text = first.top.text(width: 80).to_s
    assert(text.match?(%r{/server\.rb:9 .*\n    ← app/models/order\.rb:12 Order#total$}), text)
    assert_equal(1, text.scan("←").size)
    %i[method file gem].each { |by| assert(first.top(by: by).to_s.include?("← app/models/order.rb:12"), by) }
    rows = JSON.parse(JSON.generate(first.top.to_h), symbolize_names: true)[:rows]
    assert_equal([{path: "/srv/shop/app/models/order.rb", line: 12}, nil], rows.map { |row| row[:application]&.slice(:path, :line) })

    time = ->(index) { {"taken_ns" => Build::STARTED + index * Build::MINUTE, "gc" => {"count" => 100 + 10 * index, "major" => 3, "last_major_gc" => 190}} }
    later, last = [1, 2].map { |index| Build.new("directory" => "/srv/shop", **time[index]).row([PUMA, APP_LINE], "String", inuse: 50, at_gc: 105).profile }
    earlier = Build.new(**time[0]).profile
    [(later - earlier).report, Retained.new(earlier, later, last)].each { |analysis| assert(analysis.to_s.include?("← app/models/order.rb:12"), analysis.to_s) }
  end

  test "objects that a C extension makes are counted for its gem, where a block of malloc shows which it is" do
    native = "!#{GEMS}/gems/nokogiri-1.16.0/lib/nokogiri/3.4/nokogiri.so read_memory"
    line = APP_LINE[/\A\S+/]
    build = Build.new("directory" => "/srv/shop")
                 .row(["#{line} Nokogiri::XML::Document.read_memory", APP_LINE], "Nokogiri::XML::Document", inuse: 20, at_gc: 1)
                 .row(["#{line} Array#map", APP_LINE], "Array", inuse: 5, at_gc: 1)
    assert_equal({"(app)" => 25}, build.profile.groups(:gem).to_h { |group| [group.key, group.inuse.samples] })
    build.malloc(["!/usr/lib/libxml2.so.2 xmlNewNode", native, "#{line} Nokogiri::XML::Document.read_memory", APP_LINE], "libxml2.so.2", 5000, inuse: 30)
         .malloc(["!/usr/local/bin/ruby ruby_xmalloc", "!/usr/local/bin/ruby rb_ary_map", "#{line} Array#map", APP_LINE], "ruby", 5000, inuse: 3)
    assert_equal({"nokogiri-1.16.0" => 50, "(app)" => 8}, build.profile.groups(:gem).to_h { |group| [group.key, group.inuse.samples] })
  end

  test "a gem is known by its shared library; a library of the system by its name, and never as the application" do
    gem_of = lambda do |*native, line: APP_LINE, directory: "/srv/shop"|
      Build.new("directory" => directory).malloc([*native, line], File.basename(native.first[/\A!(\S+)/, 1]), 5000, inuse: 30).profile.groups(:gem).first.key
    end
    nokogiri = "!#{GEMS}/extensions/x86_64-linux/3.4.0/nokogiri-1.16.0/nokogiri/nokogiri.so parse"
    own = "!#{GEMS}/gems/nokogiri-1.16.0/lib/nokogiri/3.4/nokogiri.so parse"
    xml = "!/usr/lib/x86_64-linux-gnu/libxml2.so.2 xmlNewNode"
    ruby = "!/usr/local/bin/ruby ruby_xmalloc"
    assert_equal(["nokogiri-1.16.0"] * 4, [gem_of[nokogiri], gem_of[xml, own], gem_of[ruby, nokogiri], gem_of["!/usr/lib/libstdc++.so.6 _Znwm", own]])
    assert_equal(["(libxml2.so.2)"] * 3, [gem_of[xml], gem_of[xml, directory: nil], gem_of[xml, line: PUMA]])
    assert_equal(["(app)", "puma-6.4.2", "(app)"], [gem_of[ruby], gem_of[ruby, line: PUMA], gem_of["!/srv/shop/ext/fast.so make"]])
    assert_equal("(GC)", gem_of[xml, line: ":0 (GC)"])
  end

  test "paths below the folder of the process are relative, wherever and of whatever they are read" do
    profiles = [0, 1, 2].map do |index|
      build = Build.new("directory" => "/srv/shop", "taken_ns" => Build::STARTED + (10 + index) * Build::MINUTE, "gc" => {"count" => 100 + 10 * index, "major" => 9, "last_major_gc" => 99})
      (0..index).each { |step| build.row([APP_LINE], "String", inuse: 20, at_gc: 95 + 10 * step) }
      build.profile
    end
    series = Series.new(profiles)
    [profiles[2].top, profiles[2].report, profiles[2].tree, profiles[2].generations, (profiles[2] - profiles[0]).report, Retained.new(*profiles),
     series.line("order.rb:12")].each do |analysis|
      text = analysis.text(root: "/somewhere/else").to_s
      assert(text.include?("app/models/order.rb:12") && !text.include?("/srv/shop"), "#{analysis.class}: #{text}")
    end
  end
end
