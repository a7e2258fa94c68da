# frozen_string_literal: true

# Are the words and sentences of what people read first plain? As TAP.
# Usage: ruby prose.rb TOP

require_relative "../../tap"
require_relative "plain"

# What a reader meets first. README has a limit on its size as well.
PAGES = %w[README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md test/README.md .github/ISSUE_TEMPLATE/leak.md .github/ISSUE_TEMPLATE/problem.md].freeze
text = PAGES.to_h { |page| [page, File.read("#{ARGV.fetch(0)}/#{page}")] }

text.each do |page, content|
  list = wrong(page, content)
  Tap.report(list.empty?, "#{page} has plain words, and sentences of at most #{LONGEST} words", list.first(40))
end
lines, words = text.fetch("README.md").then { |readme| [readme.lines.size, readme.split.size] }
Tap.report(lines <= 120 && words <= 1200, "README.md has at most 120 lines and 1,200 words", ["it has #{lines} and #{words}"])
Tap.finish
