# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class CplusplusTest < Test
  include Builds
  include HeapSample

  CPP = "!/usr/lib/x86_64-linux-gnu/libprotobuf.so.32"

  # A C++ library's memory, which operator new hands on.
  def cpp_profile
    Build.new.malloc(["!/usr/lib/x86_64-linux-gnu/libstdc++.so.6 _Znwm", "#{CPP} _ZN6google8protobuf5Arena8AllocateEm", "#{PARSE[0..-14]} Arena.new", PARSE, MAIN],
                     "libprotobuf.so.32", 2000, inuse: 40).profile
  end

  # Debian's libstdc++ is on every machine that has a C++ program; without it a name is the symbol.
  KNOWN = CPlusPlus.readable("_ZN3foo3barEv") == "foo::bar()"

  test "functions of C++ are told as their authors wrote them, in every report" do
    skip "there is no libstdc++ here" unless KNOWN

    name = "google::protobuf::Arena::Allocate(unsigned long) (libprotobuf.so.32)"
    assert_equal([name], cpp_profile.groups(:function).map(&:key))
    assert(cpp_profile.tree.text(width: 200).to_s.include?(name), cpp_profile.tree.to_s)
    assert(cpp_profile.top.text(stacks: true).to_s.include?("operator new(unsigned long) (libstdc++.so.6)"))
    refute(cpp_profile.report.text(stacks: true).to_s.include?("_Z"))
  end

  test "a file keeps the symbol" do
    profile = cpp_profile
    id = profile.frames.index { |frame| frame.native? && frame.label.include?("Arena") }
    assert_equal("_ZN6google8protobuf5Arena8AllocateEm", profile.stacks.fields(id).first)
  end

  test "what is no symbol, or nonsense, is left as it is" do
    ["xmlNewNode", "_Zgarbage", "_Z", "_ZN#{"3foo" * 1000}Ev", "_ZN\e[1m3fooEv", "", "ZN3foo3barEv"].each { |text| assert_equal(text, CPlusPlus.readable(text)) }
    assert(!KNOWN || CPlusPlus.readable("_ZN3foo3barEv.part.0") == "foo::bar()")
  end
end
