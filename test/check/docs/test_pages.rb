# frozen_string_literal: true

require_relative "docs"

# The pages lead where they say, and name what there is.
class PagesTest < DocsTest
  TEXTS = Dir.glob(["*.md", "doc/*.md", "examples/**/*.md", "test/*.md", ".github/**/*.md"], base: TOP).sort.to_h { |page| [page, Docs.read(page)] }.freeze
  # Names that stand for another, and files of jemalloc.
  ELSEWHERE = %w[patches/SERIES patches/4.0 src/prof.c].freeze

  # A page without its examples.
  def prose(text) = text.gsub(/^( {4}|\t).*$/, "").gsub(/^```.*?^```/m, "")

  # The names that a page's headings can be linked by, as GitHub makes them.
  def anchors(text) = prose(text).scan(/^#+ (.*)$/).flatten.map { |heading| heading.downcase.gsub(/[^\p{Word} -]/, "").tr(" ", "-") }

  # "PAGE: NAME" for each name that the block finds in a text and that is not there.
  def unknown(texts, known)
    texts.flat_map { |page, text| (yield(text).uniq - known).map { |name| "#{page}: #{name}" } }
  end

  test "every link leads to a file and a heading" do
    assert_none(TEXTS.flat_map { |page, text| prose(text).scan(/\]\(([^)\s]+)\)/).flatten.grep_v(/\A[a-z]+:/).filter_map { |link| broken(page, link) } })
  end

  def broken(page, link)
    path, anchor = link.split("#", 2)
    target = path.empty? ? page : File.expand_path(path, "/#{File.dirname(page)}").delete_prefix("/")
    return "#{page}: #{link}: there is no such file" unless File.exist?(File.join(TOP, target))

    "#{page}: #{link}: there is no such heading" if anchor && !anchors(TEXTS.fetch(target)).include?(anchor)
  end

  test "doc/README.md names every page of doc/" do
    index = TEXTS.fetch("doc/README.md")
    assert_none(Dir.children("#{TOP}/doc").grep(/\.md\z/).reject { |page| page == "README.md" || index.include?("(#{page})") })
  end

  test "every make target that a page names is there" do
    suites = Dir["#{TOP}/test/*/*/run"].map { |run| "test-#{File.basename(File.dirname(run))}" }
    targets = Docs.read("Makefile").scan(/^([a-z][a-z-]*):/).flatten
    variants = Docs.read("tool/variants").scan(/^([a-z][a-z-]*) /).flatten.map { |name| "build-#{name}" }
    assert_none(unknown(TEXTS.except("CHANGELOG.md"), suites + targets + variants) do |text|
      text.scan(/\bmake (check|(?:test|build|bench|demo|stock|deps|refresh|clean)(?:-[a-z][a-z-]*)?)(?![\w-])/).flatten
    end)
  end

  test "every file of the repository that a page names is there" do
    assert_none(unknown(TEXTS.except("CHANGELOG.md"), ELSEWHERE) do |text|
      text.scan(%r{(?<![\w./-])((?:tool|test|benchmark|examples|src|patches|sig|viewer)/[\w./-]*\w)}).flatten
          .reject { |path| path.match?(/NAME|SUITE/) || [TOP, "#{TOP}/src"].any? { |folder| Dir["#{folder}/#{path}*"].any? } }
    end)
  end

  COMMANDS = Dir["#{TOP}/src/lib/heapsample/tool/commands/*.rb"].map { |file| File.basename(file, ".rb") }.freeze

  test "every command of heapsample that a page shows is there" do
    assert_none(unknown(TEXTS, COMMANDS) { |text| text.scan(/^ {4}(?:\$ )?heapsample ([a-z]+)(?=[ \n]|$)/).flatten })
  end

  test "doc/heapsample.md names every command, under All commands" do
    all = TEXTS.fetch("doc/heapsample.md")[/^## All commands.*?(?=^## )/m].to_s
    assert_none(COMMANDS.reject { |name| all.match?(/^\| .*`#{name}[ `]/) })
  end

  test "the glossary is in order" do
    words = TEXTS.fetch("doc/glossary.md").scan(/^\*\*(.+?)\*\*/).flatten
    assert_equal words.uniq.sort_by(&:downcase), words
  end
end
