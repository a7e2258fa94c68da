# frozen_string_literal: true

require_relative "docs"
require_relative "plain"

# What a reader meets first is plain.
class ProseTest < DocsTest
  %w[README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md test/README.md .github/ISSUE_TEMPLATE/leak.md .github/ISSUE_TEMPLATE/problem.md].each do |page|
    test "#{page} has plain words, and sentences of at most #{Plain::LONGEST} words" do
      assert_none Plain.wrong(page, Docs.read(page))
    end
  end

  test "README.md has at most 120 lines and 1,200 words" do
    readme = Docs.read("README.md")
    assert_operator readme.lines.size, :<=, 120
    assert_operator readme.split.size, :<=, 1200
  end
end
