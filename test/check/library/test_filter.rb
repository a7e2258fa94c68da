# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class FilterTest < Test
  include Builds
  include HeapSample

  GEMS = "/usr/lib/ruby/gems/3.4.0/gems"

  def filtered(**wanted) = sample_build.profile.filter(**wanted).rows.map(&:class_name)

  def places(**wanted)
    stacks = %w[/srv/app/models/user.rb:12 /srv/app/models/user.rb:3 /srv/lib/app/models.rb:12 /srv/app/models_old/user.rb:1]
             .map { |place| ["#{place} User#name", "/srv/app/main.rb:1 <main>"] }
    stacks << ["#{GEMS}/rack-3.1.7/lib/rack.rb:9 Rack.call", "/srv/app/main.rb:1 <main>"]
    stacks << ["#{GEMS}/rack-test-2.1.0/lib/rack.rb:5 Rack.test", "/srv/app/main.rb:1 <main>"]
    stacks.inject(Build.new) { |build, stack| build.row(stack, "String", inuse: 1, at_gc: 1) }.profile.filter(**wanted)
          .rows.map { |row| row.stack.first.then { |frame| "#{frame.path[%r{[^/]+/[^/]+\z}]}:#{frame.lineno}" } }
  end

  test "by class: the whole name, a pattern, a Regexp, several" do
    assert_equal(%w[Ticket], filtered(class: "Ticket"))
    assert_equal([], filtered(class: "Tick"))
    assert_equal(%w[Ticket Object], filtered(class: ["T*", "O?ject"]))
    assert_equal(%w[String Array], filtered(class: /r.*[gy]\z/))
  end

  test "by type, with its T_ or without" do
    assert_equal(%w[Ticket Object], filtered(type: "T_OBJECT"))
    assert_equal(%w[Ticket Object], filtered(type: "OBJECT"))
    assert_equal(%w[Array], filtered(type: "T_A*"))
  end

  test "by path: parts of it in a row, a line, from the root, a pattern" do
    assert_equal(%w[models/user.rb:12 models/user.rb:3 models_old/user.rb:1], places(path: "user.rb"))
    assert_equal(%w[models/user.rb:12 models/user.rb:3], places(path: "app/models"))
    assert_equal(%w[models/user.rb:12], places(path: "models/user.rb:12"))
    assert_equal(%w[models/user.rb:12 models/user.rb:3], places(path: "/srv/app/models/"))
    assert_equal([], places(path: "/app/models"))
    assert_equal(%w[models/user.rb:12 models/user.rb:3 app/models.rb:12 models_old/user.rb:1], places(path: ["app/models*"]))
    assert_equal(%w[lib/rack.rb:9], places(path: "rack-3.1.7/lib/rack.rb:9"))
    assert_equal(6, places(path: /srv|gems/).size)
  end

  test "a place as a report shows it finds itself" do
    profile = sample_build.profile
    layout = Layout.new(root: "/srv/app")
    profile.groups(:line).each do |group|
      next if group.key.path.empty?

      shown = layout.place(group.key)[/\A\S+/]
      assert(profile.filter(path: shown).groups(:line).map(&:key).include?(group.key), shown)
    end
  end

  test "by gem: its name, or that with the version; the application; Ruby" do
    assert_equal(%w[lib/rack.rb:9], places(gem: "rack"))
    assert_equal(%w[lib/rack.rb:9], places(gem: "rack-3.1.7"))
    assert_equal(%w[lib/rack.rb:9 lib/rack.rb:5], places(gem: "rack*"))
    assert_equal(4, places(gem: "(app)").size)
    assert_equal(%w[String Array Hash], filtered(gem: "(app)"))
  end

  test "by any frame of the stack: a path or a method" do
    assert_equal(%w[String Array Ticket Hash], filtered(stack: "main.rb:3"))
    assert_equal(%w[String], filtered(stack: "Array#map"))
    assert_equal(%w[String Array], filtered(stack: "Foo#bar"))
    assert_equal(%w[Ticket], filtered(stack: /model-7/))
  end

  test "by age in GCs; what has no GC of allocation has no age" do
    assert_equal(%w[String Object], filtered(age: 80..))
    assert_equal(%w[Ticket Hash], filtered(age: 0..1))
    assert_equal(%w[Array], filtered(age: 10))
    assert_equal([0, 1], [filtered(age: 0...0).size, filtered(age: ...1).size])
    assert_equal(1, malloc_build.profile.filter(age: 0..).rows.size)
    assert_equal(0, Profile.from_raw(sample_build.raw.merge(meta: {})).filter(age: 0..).rows.size)
  end

  test "by kind, and several conditions at once" do
    assert_equal([4, 1], %i[malloc slots].map { |kind| malloc_build.profile.filter(kind: kind).rows.size })
    assert_equal(%w[Array], filtered(path: "models", class: "A*", age: ..10))
  end

  test "a report says of what part it is, and nothing of the whole process" do
    meta = {"account" => {"rss" => 1 << 30, "slots_live" => 1 << 29}}
    text = sample_build(**meta).profile.filter(class: "Ticket", age: 0..5).report.to_s
    assert(text.include?("\nA part of the profile, filtered: class Ticket, age 0..5\n"), text)
    assert(!text.include?("Memory of the process") && !text.include?("(before start)"), text)
    assert(text.tr("\n", " ").include?("100.0% of live memory"), text)
    assert_equal({class: "Ticket", age: "0..5"}, sample_build.profile.filter(class: "Ticket", age: 0..5).report.to_h[:filter])
    none = sample_build.profile.filter(class: "Nobody")
    assert(none.report.to_s.end_with?("No matching memory is known to be live.\n"))
    assert(none.top.to_s.start_with?("A part of the profile, filtered: class Nobody\n"), none.top.to_s)
  end

  test "nothing asked for is the profile itself; a part has no parts" do
    profile = sample_build.profile
    assert(profile.filter.equal?(profile))
    assert_error(ArgumentError, /already filtered/) { profile.filter(class: "A").filter(age: 1) }
  end

  test "what makes no sense is an ArgumentError" do
    profile = sample_build.profile
    assert_error(ArgumentError, /class must be a String, a Regexp or an Array of them, not 3/) { profile.filter(class: 3) }
    assert_error(ArgumentError, /path must be a String/) { profile.filter(path: [""]) }
    assert_error(ArgumentError, /gem must be a String/) { profile.filter(gem: []) }
    assert_error(ArgumentError, /age must be a number of GCs or a Range of them, not "3"/) { profile.filter(age: "3") }
    assert_error(ArgumentError, /age must be a number/) { profile.filter(age: "a".."b") }
    assert_error(ArgumentError, /kind must be one of/) { profile.filter(kind: :heap) }
    assert_error(ArgumentError, /unknown keyword/) { profile.filter(klass: "A") }
  end

  test "whose code a file is, in any prefix" do
    {
      "#{GEMS}/rack-3.1.7/lib/rack.rb" => "rack-3.1.7",
      "/home/u/.rvm/gems/ruby-3.4.0/gems/rack-3.1.7/lib/rack.rb" => "rack-3.1.7",
      "/srv/app/vendor/bundle/ruby/3.4.0/gems/nokogiri-1.16.5-x86_64-linux-gnu/lib/n.rb" => "nokogiri-1.16.5-x86_64-linux-gnu",
      "/x/bundler/gems/rails-0a1b2c3d4e5f/activerecord/lib/a.rb" => "rails-0a1b2c3d4e5f",
      "#{GEMS}/rails-8.0.0.beta1/lib/a.rb" => "rails-8.0.0.beta1",
      "(eval at #{GEMS}/erb-4.0/lib/erb.rb:3)" => "erb-4.0",
      "(eval at (eval at /srv/app/x.rb:3):1)" => "(app)",
      "/usr/local/lib/ruby/3.4.0/json/common.rb" => "(ruby)",
      "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/socket.rb" => "(ruby)",
      "/usr/lib/ruby/vendor_ruby/rubygems.rb" => "(ruby)",
      "/usr/local/lib/ruby/site_ruby/3.4.0/bundler.rb" => "(ruby)",
      "<internal:kernel>" => "(ruby)",
      "/srv/app/gems/local/lib/x.rb" => "(app)",
      "/srv/app/models/x.rb" => "(app)",
      "-e" => "(app)", "(eval)" => "(app)"
    }.each { |path, owner| assert_equal([path, owner], [path, GemName.of(path)]) }
  end

  test "groups by gem, and growth too" do
    assert_equal({"(app)" => 100, "model-7.1.2" => 7, "(no stack)" => 1},
                 sample_build.profile.groups(:gem).to_h { |group| [group.key, group.inuse.samples] }.reject { |_, samples| samples.zero? })
    assert_equal(["(GC)"], Build.new.malloc(["#{XML} f", ":0 (GC)"], "libxml2.so.2", 64, inuse: 1).profile.top(by: :gem).map(&:key))
    later = sample_build("gc" => {"count" => 110}, "taken_ns" => Build::STARTED + 20 * Build::MINUTE)
            .row(["#{GEMS}/rack-3.1.7/lib/rack.rb:9 Rack.call"], "String", inuse: 30, at_gc: 105)
    assert((later.profile - sample_build.profile).report(by: :gem).to_s.match?(/^1  \+15\.0 MiB .* rack-3\.1\.7$/))
  end
end
