# frozen_string_literal: true

# Heap dumps on the command line, as files that people already have.

require "zlib"
require_relative "../../testing"
require_relative "command_helper"
require_relative "../library/dump_lines"

class DumpCommandTest < Test
  include CommandHelper

  # Class Shop retains so many Orders; +traced+: are their lines known?
  def dump(orders, traced: true)
    dump = DumpLines.new
    at = ->(line, generation) { traced ? {file: "/srv/shop.rb", line: line, generation: generation} : {} }
    list = dump.take
    dump.class_object("Shop", references: [list])
    refers = Array.new(orders) { |index| dump.object("OBJECT", "Order", memsize: 1000, **at[3, index]) }
    dump.object("ARRAY", "Array", address: list, refers: refers, length: orders, **at[1, 0])
    dump.root("vm", dump.classes)
    dump.text
  end

  def file(name, text) = File.join(dir, name).tap { |path| File.binwrite(path, text) }

  test "a dump opens wherever a profile does" do
    path, later = file("1.json", dump(10)), file("2.json.gz", Zlib.gzip(dump(30)))
    assert_match(%r{9\.8 KiB +10 .* Order +/srv/shop\.rb:3}, printed("top", path))
    assert_match(%r{/srv/shop\.rb:3}, printed("tree", path))
    assert_match(/Heap dump, written .* All figures are counted\./, printed(path))
    assert_match(/\+19\.5 KiB +20 +29\.3 KiB +9\.8 KiB +Order/, printed("diff", path, later))
    assert_includes(printed("why", later, "--class", "Order"), "constant or variable of class Shop (Array) /srv/shop.rb:1 → 30 Order")
    assert_match(/Objects by generation/, printed("top", path, "--by", "generation"))
    assert_equal(10_000, JSON.parse(printed("top", path, "--json"))["rows"].first["value"])
    assert_match(/Order/, printed("top", "-", stdin_data: dump(10)))
    assert_includes(printed("convert", path, "-o", "-", "--format", "folded"), "/srv/shop.rb")
  end

  test "several dumps are diagnosed in the order in which they are named, and say that they are no proof" do
    paths = [10, 20, 35].each_with_index.map { |count, index| file("#{index}.json", dump(count)) }
    text = printed(*paths)
    assert_match(/\ACannot tell: 3 heap dumps/, text)
    assert_match(%r{Look first at /srv/shop\.rb:3 .* retained by `constant or variable of class Shop}m, text)
    assert_equal("unknown", JSON.parse(printed("diagnose", *paths, "--json"))["state"])
    assert_match(/Retained: allocated after the first profile/, printed("diff", *paths))
    fails(2, /--fail-on is for profiles, not heap dumps/, "diagnose", *paths, "--fail-on", "leak")
  end

  test "what is missing is one line: no lines without tracing, a truncated file, one that is no dump" do
    path = file("untraced.json", dump(10, traced: false))
    result = heapsample("top", path)
    assert_match(/\Aheapsample: no allocation was traced, so lines are not known: grouped by class/, result.err)
    assert_match(/Order/, result.out)
    cut = heapsample("top", file("cut.json", dump(10)[0...-100]))
    assert_match(/\Aheapsample: .*cut\.json: the file ends early; what comes before its end was read\n\z/, cut.err)
    fails(1, /no line of it is an object/, "top", file("roots.json", "{\"type\":\"ROOT\", \"root\":\"vm\", \"references\":[\"0x10\"]}\n"))
    fails(1, /JSON/, "top", file("other.json", "{\"a\":1}\n"))
  end

  test "the page of dumps has their lines", missing: NO_PAGE do
    paths = [10, 20].each_with_index.map { |count, index| file("#{index}.json", dump(count)) }
    page = File.join(dir, "page.html")
    assert_equal(0, heapsample("page", *paths, "-o", page, env: with_view(dir)).status)
    data = Zlib.gunzip(File.binread(page)[%r{<script id="data"[^>]*>(.*?)</script>}m, 1].unpack1("m0"))
    assert_includes(data, "shop.rb")
    assert_includes(data, "constant or variable of class Shop")
  end
end
