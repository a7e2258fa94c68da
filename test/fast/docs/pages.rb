# frozen_string_literal: true

# Do the pages lead where they say, and name what there is? As TAP.
# Usage: ruby pages.rb TOP

require_relative "../../tap"

TOP = ARGV.fetch(0)
PAGES = Dir.chdir(TOP) { Dir["*.md", "doc/*.md", "examples/**/*.md", "test/*.md", ".github/**/*.md"].sort }
TEXTS = PAGES.to_h { |page| [page, File.read(File.join(TOP, page))] }

# Names that stand for another, and files of jemalloc.
ELSEWHERE = %w[patches/SERIES patches/4.0 src/prof.c].freeze

# What is wrong, if anything: at most 40 lines.
def none(name, wrong) = Tap.report(wrong.empty?, name, wrong.first(40))

# A page without its examples.
prose = ->(text) { text.gsub(/^( {4}|\t).*$/, "").gsub(/^```.*?^```/m, "") }
# The names that a page's headings can be linked by, as GitHub makes them.
anchors = ->(text) { prose.(text).scan(/^#+ (.*)$/).flatten.map { |heading| heading.downcase.gsub(/[^\p{Word} -]/, "").tr(" ", "-") } }

broken = TEXTS.flat_map do |page, text|
  prose.(text).scan(/\]\(([^)\s]+)\)/).flatten.grep_v(/\A[a-z]+:/).filter_map do |link|
    path, anchor = link.split("#", 2)
    target = path.empty? ? page : File.join(File.dirname(page), path).delete_prefix("./")
    target = File.expand_path(target, "/").delete_prefix("/")
    next "#{page}: #{link}: there is no such file" unless File.exist?(File.join(TOP, target))

    "#{page}: #{link}: there is no such heading" if anchor && !anchors.(TEXTS.fetch(target)).include?(anchor)
  end
end
none("every link leads to a file and a heading", broken)

index = TEXTS.fetch("doc/README.md")
none("doc/README.md names every page of doc/", Dir.children("#{TOP}/doc").grep(/\.md\z/).reject { |page| page == "README.md" || index.include?("(#{page})") })

suites = Dir["#{TOP}/test/*/*/run"].map { |run| "test-#{File.basename(File.dirname(run))}" }
targets = File.read("#{TOP}/Makefile").scan(/^([a-z][a-z-]*):/).flatten + suites
variants = File.read("#{TOP}/tool/variants").scan(/^([a-z][a-z-]*) /).flatten.map { |name| "build-#{name}" }
none("every make target that a page names is there", TEXTS.except("CHANGELOG.md").flat_map do |page, text|
  text.scan(/\bmake ((?:test|build|bench|demo|stock|deps|refresh|clean)(?:-[a-z][a-z-]*)?)(?![\w-])/).flatten.uniq
      .reject { |target| [*targets, *variants].include?(target) }.map { |target| "#{page}: make #{target}" }
end)

scripts = TEXTS.except("CHANGELOG.md").flat_map do |page, text|
  text.scan(%r{(?<![\w./-])((?:tool|test|benchmark|examples|src|patches|sig|viewer)/[\w./-]*\w)}).flatten.uniq
      .reject { |path| [TOP, "#{TOP}/src"].any? { |folder| Dir["#{folder}/#{path}*"].any? } || path.match?(/NAME|SUITE/) || ELSEWHERE.include?(path) }
      .map { |path| "#{page}: #{path}" }
end
none("every file of the repository that a page names is there", scripts)

commands = Dir["#{TOP}/src/lib/heapsample/tool/commands/*.rb"].map { |file| File.basename(file, ".rb") }
none("every command of heapsample that a page shows is there", TEXTS.flat_map do |page, text|
  text.scan(/^ {4}(?:\$ )?heapsample ([a-z]+)(?=[ \n]|$)/).flatten.uniq.reject { |name| commands.include?(name) }.map { |name| "#{page}: heapsample #{name}" }
end)

all = TEXTS.fetch("doc/heapsample.md")[/^## All commands.*?(?=^## )/m].to_s
none("doc/heapsample.md names every command, under All commands", commands.reject { |name| all.match?(/^\| .*`#{name}[ `]/) })

words = TEXTS.fetch("doc/glossary.md").scan(/^\*\*(.+?)\*\*/).flatten
none("the glossary is in order", words == words.uniq.sort_by(&:downcase) ? [] : words)
Tap.finish
