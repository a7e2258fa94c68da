# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class LayoutTest < Test
  include Builds
  include HeapSample

  LAYOUT = Layout.new(width: 80, root: "/srv/app")

  test "sizes in binary units" do
    assert_equal(["0 B", "40 B", "1.0 KiB", "1.0 MiB", "48.1 MiB", "2.0 GiB"],
                 [0, 40, 1024, 1_048_550, 48.1 * 1024**2, 2 * 1024**3].map { |size| LAYOUT.bytes(size) })
    assert_equal(["+1.0 KiB", "-1.0 KiB", "0 B"], [1024, -1024, 0].map { |size| LAYOUT.bytes(size, sign: true) })
  end

  test "settings as they were given" do
    assert_equal(["512 KiB", "1 MiB", "1,000 B", "1 B"], [512 * 1024, 1024**2, 1000, 1].map { |value| LAYOUT.setting(value) })
  end

  test "counts, shares and durations" do
    assert_equal(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map { |value| LAYOUT.count(value) })
    assert_equal(["12,345", "1.2 million", "3.0 billion"], [12_345, 1.2e6, 3e9].map { |value| LAYOUT.rough_count(value) })
    assert_equal(["0.5 s", "1 min 0 s", "2 h 5 min", "3 d 1 h"], [0.5, 60, 7500, 262_800].map { |value| LAYOUT.duration(value) })
    assert_equal("12.3%", LAYOUT.percent(0.1234))
  end

  test "an interval has one unit" do
    assert_equal("0.0 – 2.6 MiB", LAYOUT.range(18_000, 2.6 * 1024**2))
    assert_equal("-4.1 – +4.1 MiB", LAYOUT.range(-4.1 * 1024**2, 4.1 * 1024**2, sign: true))
  end

  test "paths: the application's relative, a gem's from its name, Ruby's from its version" do
    paths = {
      "/srv/app/models/x.rb" => "models/x.rb",
      "/srv/application/x.rb" => "/srv/application/x.rb",
      "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack.rb" => "rack-3.1.7/lib/rack.rb",
      "/home/u/.rvm/gems/ruby-3.4.0/gems/rack-3.1.7/lib/rack.rb" => "rack-3.1.7/lib/rack.rb",
      "/x/bundler/gems/rails-0a1b2c3d4e5f/activerecord/lib/a.rb" => "rails-0a1b2c3d4e5f/activerecord/lib/a.rb",
      "/usr/local/lib/ruby/3.4.0/json/common.rb" => "ruby/3.4.0/json/common.rb",
      "(eval at /srv/app/x.rb:3)" => "(eval at /srv/app/x.rb:3)"
    }
    paths.each { |path, short| assert_equal(short, LAYOUT.path(path)) }
  end

  test "however narrow, a place keeps its line" do
    key = Place.new("/very/long/directory/names/all/the/way/down/to/application_controller.rb", 1234, "Some::Very::Long#method_name")
    (1..150).each do |room|
      text = LAYOUT.place(key, room)
      assert(text.include?(":1234"), "#{room}: #{text}")
      assert(text.length <= room, "#{room}: #{text}") if room >= Layout::PLACE_MIN
    end
    assert_equal("…/way/down/to/application_controller.rb:1234 Some::Very::…", LAYOUT.place(key, 58))
    assert_equal("…/application_controller.rb:1234", LAYOUT.place(key, 37))
  end

  test "what a terminal would obey is written as Ruby writes it" do
    assert_equal(["Foo\\tBar", "`\\e[1m`"], [LAYOUT.name("Foo\tBar"), LAYOUT.subject("\e[1m")])
    assert_equal(["\\nx.rb:3 `A\\e`"], LAYOUT.sentence(LAYOUT.subject(Place.new("\nx.rb", 3, "A\e"))))
  end

  test "sentences are broken between words, and only there" do
    assert_equal(["one two", "three", "a-very-long-word"], Layout.new(width: 8).sentence("one two three a-very-long-word"))
    assert_equal(["  kept as  it is"], LAYOUT.sentence("  kept as  it is"))
  end

  test "a narrow table loses columns in their order, and those that tell nothing" do
    columns = [["", :right], ["bytes", :right], ["second", :right, 2], ["first", :right, 1], ["none", :right, 3], ["line", :left]]
    rows = [["1", "10", "222222", "11111", "-", "some/place/of/thirty/characters"]]
    heads = ->(width) { Layout.new(width: width).table(columns, rows)[0].split }
    assert_equal(%w[bytes second first line], heads[80])
    assert_equal(%w[bytes second line], heads[50])
    assert_equal(%w[bytes line], heads[40])
    assert(Layout.new(width: 30).table(columns, rows)[1].length <= 30)
  end

  test "a table aligns its columns" do
    lines = LAYOUT.table([["a", :left], ["n", :right], ["last", :left]], [["x", "10", "end"], ["long", "1", "e"]])
    assert_equal(["a      n  last", "x     10  end", "long   1  e"], lines)
  end

  # A profile in which every name is long, and would colour a screen.
  def hostile_profile(later: 0)
    line = "/srv/app/very/long/folders/that/go/on\e[31m/controllers/application_controller.rb:1234 Some::Very::Long::Name#method_of_it"
    account = {"rss" => (2 + later) << 29, "slots_live" => (1 + later) << 29, "malloc_live" => 1 << 28, "allocator" => "x\e[0m"}
    sample_build("account" => account, "account_at_start" => account, "taken_ns" => Build::STARTED + (10 + later) * Build::MINUTE,
                 "gc" => {"count" => 100 + 100 * later, "minor" => 80, "major" => 20})
      .row([line, "app/main.rb:1 <main>"], "Very::Long::Class::Name::That::Nobody::Writes\e[2J", inuse: 300 + 50 * later, at_gc: 99, young: 20, freed: 50, alloc: 500)
      .row([line.sub("1234", "1")], "B", inuse: 3, at_gc: 98)
      .malloc(["!/usr/lib/x86_64-linux-gnu/lib\e[1mxml2.so.2 xmlNewNodeWithAVeryLongName", line], "lib\e[1mxml2.so.2", 3000, inuse: 20 + 30 * later)
      .profile
  end

  def keys_within(data)
    case data
    when Hash then data.keys + data.values.flat_map { |value| keys_within(value) }
    when Array then data.flat_map { |value| keys_within(value) }
    else []
    end
  end

  test "every analysis keeps to the width, writes names as Ruby does, and has Symbols for keys" do
    first, second, third = [0, 1, 2].map { |later| hostile_profile(later: later) }
    [60, 80, 120].each do |width|
      [second.report, second.filter(class: "Very*").report, second.top, second.top(by: :library),
       second.top(by: :function), second.tree, second.tree(direction: :callers), second.churn,
       second.generations, second.generations(age: 0..), (second - first).report,
       Retained.new(first, second, third), About.new(second, name: "\e[1m")].each do |analysis|
        text = analysis.text(width: width).to_s
        wide = text.lines(chomp: true).select { |line| line.length > width && line.include?(" ") }
        assert_equal([analysis.class, []], [analysis.class, wide])
        refute(Printable::UNSAFE.match?(text.delete("\n")), "#{analysis.class}: #{text.inspect}")
        data = analysis.to_h
        data.delete(:settings) && data.delete(:drops) && data.delete(:meta) if analysis.is_a?(About)      # the file's own
        assert_equal([analysis.class, []], [analysis.class, keys_within(data).grep_v(Symbol)])
      end
    end
  end
end
