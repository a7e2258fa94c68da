# frozen_string_literal: true

require "heapsample"
require "json"
require_relative "../../testing"

class PrintableTest < Test
  test "what a terminal would obey, what turns or hides text, and bytes of no text are written as Ruby writes them" do
    text = HeapSample::Printable.method(:text)
    assert_equal("a\\n\\e[31m\\0\\u009B\\u202Eé日本", text["a\n\e[31m\0\u009b\u202eé日本"])
    hidden = [*0x202a..0x202e, *0x2066..0x2069, 0x200e, 0x200f, 0x61c, 0x2028, 0xfeff, 0xad, *0xe0000..0xe007f, 0xe0100, 0x3164]
    hidden.each { |code| assert_equal(format(code > 0xffff ? "a\\u{%X}b" : "a\\u%04Xb", code), text["a#{code.chr("UTF-8")}b"]) }
    assert_equal(["\\xFF\\xFEé", "\\xFF", "é", "", "5"], [text["\xFF\xFEé"], text["\xff".b], text["é".dup.force_encoding("US-ASCII")], text[nil], text[5]])
  end

  test "a name in Markdown stands in a code span that it cannot end" do
    assert_equal(["`Foo#bar`", "``` a``b ```", "`` ` ``", "`\\n## x`", "`   `"], ["Foo#bar", "a``b", "`", "\n## x", " "].map { |name| HeapSample::Printable.code(name) })
  end

  test "JSON has no such character, and a program reads what was there" do
    value = {"a\u202e" => ["\u{e0041}\n\u007f", 1, nil, "日本"]}
    text = HeapSample::Printable.json(value)
    assert_equal(value, JSON.parse(text))
    assert(text.delete("\n").match?(/\A[\p{Print}]+\z/) && !HeapSample::Printable::UNSAFE.match?(text.delete("\n")), text.inspect)
    assert(text.include?("日本"))
  end
end
