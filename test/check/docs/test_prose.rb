# frozen_string_literal: true

require_relative "docs"
require_relative "plain"
begin
  require "prism"
rescue LoadError
  nil # of a Ruby before 3.3
end

# What a reader meets first is plain.
class ProseTest < DocsTest
  %w[README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md test/README.md .github/ISSUE_TEMPLATE/leak.md .github/ISSUE_TEMPLATE/problem.md].each do |page|
    test "#{page} has plain words, and sentences of at most #{Plain::LONGEST} words" do
      assert_none Plain.wrong(page, Docs.read(page))
    end
  end

  SOURCES = ["src/lib/**/*.rb", "sig/*.rbs", "viewer/**/*.{js,mjs}", "src/{heap_sampler,gc,ext,include,internal}/**/*.{c,h,inc}",
             "{test,src/test,benchmark,examples,tool,deploy}/**/*.{rb,mjs,c,h}"].freeze
  # The programs of the zoo mark lines with words of the zoo's own: see test/zoo/header.rb.
  OTHER = %r{node_modules/|\Atest/zoo/(?:programs/|header\.rb)}

  test "comments have plain words", missing: ("needs Prism, which Ruby 3.3 and later have" unless defined?(Prism)) do
    assert_none(Dir.glob(SOURCES, base: TOP).grep_v(OTHER).sort.flat_map { |path| Plain.wrong_comments(path, Docs.read(path)) })
  end

  test "README.md has at most 120 lines and 1,200 words" do
    readme = Docs.read("README.md")
    assert_operator readme.lines.size, :<=, 120
    assert_operator readme.split.size, :<=, 1200
  end
end
