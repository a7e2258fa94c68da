# frozen_string_literal: true

require_relative "docs"
require "heapsample"

# There are three numbers: of the product, which is the gem's, of the format and of the protocol. Each is declared once in a
# language, and the pages have the same.
class VersionsTest < DocsTest
  FILES = %r{heapsample-(\d+\.\d+\.\d+)\.gem|releases/download/v(\d+\.\d+\.\d+)|sampler_[\d.]+\+(\d+\.\d+\.\d+)}
  RELEASES = /(?:ruby@|REPO:|ruby-|sampler_)(\d+\.\d+\.\d+)\b|(\d+\.\d+\.\d+)-heapsample/

  def in_pages(pattern) = ["README.md", *Dir.glob("doc/*.md", base: TOP)].flat_map { |page| Docs.read(page).scan(pattern).flatten.compact.map { |number| "#{page}: #{number}" } }

  test "the newest release in CHANGELOG.md has the number of the gem, and so have the files that pages name" do
    assert_equal HeapSample::VERSION, Docs.read("CHANGELOG.md")[/^## (\S+?),? /, 1]
    assert_none(in_pages(FILES).reject { |found| found.end_with?(": #{HeapSample::VERSION}") })
  end

  test "README.md installs the Ruby that the patches are made for" do
    pinned = Docs.read("upstream/3.4")[/^version (\S+)/, 1]
    numbers = Docs.read("README.md").scan(RELEASES).flatten.compact.uniq
    assert_equal [pinned], numbers
  end

  test "format and protocol have one number in C, in Ruby and on their page" do
    assert_equal [HeapSample::PprofReader::FORMAT] * 2,
                 [Docs.read("src/heap_sampler/profile/profile.h")[/define HS_FORMAT_VERSION (\d+)/, 1], Docs.read("doc/format.md")[/\A# .*, version (\d+)/, 1]].map(&:to_i)
    assert_equal [HeapSample::LiveSocket::VERSION] * 2,
                 [Docs.read("src/heap_sampler/server/protocol.c")[%r{greeting\[\] = "(heap-sample/\d+) "}, 1], "heap-sample/#{Docs.read("doc/protocol.md")[/\A# .*, version (\d+)/, 1]}"]
  end
end
