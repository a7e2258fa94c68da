# frozen_string_literal: true

require "fileutils"
require "open3"

# A recipe of CONTRIBUTING.md, "How to add TITLE": the places that it names; and a small patch that follows it.
class Recipe
  TOP = File.expand_path("../../..", __dir__)
  PLACES = 4

  def self.all = File.read("#{TOP}/CONTRIBUTING.md").scan(/^## How to add (.*)$/).flatten

  # +name+: what the patch adds; it stands for NAME in the text.
  def initialize(title, patch, name: "NAME")
    @text = File.read("#{TOP}/CONTRIBUTING.md")[/^## How to add #{Regexp.escape(title)}\n(.*?)(?=^## )/m, 1] or raise ArgumentError, "no recipe for #{title}"
    @patch = File.expand_path(patch)
    @name = name
  end

  # The numbered steps. Each names one place at least.
  def steps = @text.split(/^(?=\d\. )/).drop(1)

  # Files, and folders with a slash at the end, by step. A name without a folder may be below any.
  def places = steps.map { |step| step.gsub("NAME", @name).scan(/[`\[]([\w\/.-]+(?:\/|\.(?:rb|rbs|c|h|inc|md|proto)))[`\]]/).flatten }

  # What the patch changes.
  def changed = File.read(@patch).scan(%r{^\+\+\+ b/(\S+)}).flatten

  # Changes of files that no step names.
  def unnamed = changed.reject { |file| places.flatten.any? { |place| file == place || file.end_with?("/#{place}") || (place.end_with?("/") && file.start_with?(place)) } }

  # Follows it in +folder+, which has a copy of the repository; the result is what went wrong, or nil.
  def follow(folder)
    out, status = Open3.capture2e("patch", "-p1", "-s", "-F0", "-i", @patch, chdir: folder)
    out unless status.success?
  end
end
