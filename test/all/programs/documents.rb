# frozen_string_literal: true

# Writes large documents, the same every time: manual.adoc and manual.md.
# Usage: ruby documents.rb DIRECTORY SECTIONS

WORDS = %w[heap slot page sample mark sweep object class string array table stack frame line weight].freeze

def sentence(random)
  words = Array.new(8 + random.rand(8)) { WORDS.sample(random: random) }
  words[3] = "*#{words[3]}*"
  words[5] = "`#{words[5]}`"
  "#{words.join(" ").capitalize}."
end

def paragraph(random) = Array.new(4) { sentence(random) }.join("\n")

directory, sections = ARGV[0], Integer(ARGV[1])

random = Random.new(1)
File.open(File.join(directory, "manual.adoc"), "w") do |file|
  file.puts "= Manual", ":toc:", ":sectnums:", ":reproducible:", ""
  sections.times do |i|
    file.puts "[#section-#{i}]", "== Section #{i}", "", paragraph(random), "",
              "* #{sentence(random)}", "** see <<section-#{i / 2}>>", "",
              "|===", "|a |b", "|#{i} |#{sentence(random)}", "|===", "",
              "[source,ruby]", "----", "def method_#{i} = #{i}", "----", ""
  end
end

random = Random.new(2)
File.open(File.join(directory, "manual.md"), "w") do |file|
  sections.times do |i|
    file.puts "## Section #{i}", "", paragraph(random), "",
              "1. #{sentence(random)}", "2. [link](#section-#{i / 2}) and ~~none~~", "",
              "| a | b |", "|---|---|", "| #{i} | #{sentence(random)} |", "",
              "    def method_#{i} = #{i}", "", "> #{sentence(random)}", ""
  end
end
