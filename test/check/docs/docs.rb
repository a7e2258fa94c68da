# frozen_string_literal: true

require "open3"
require_relative "../../testing"

# What the tests of the documentation share.
module Docs
  TOP = File.expand_path("../../..", __dir__)
  NOT_BUILT = ("no Ruby is built here: run make build" unless GC.respond_to?(:sample_profile))

  def self.read(path) = File.read(File.join(TOP, path))

  # What Ruby prints for these arguments.
  def self.ruby(*arguments) = Open3.capture2e({"RUBY_HEAP_SAMPLE" => nil, "RUBYOPT" => nil}, RbConfig.ruby, *arguments).first

  # The names of all settings, from Ruby's own error.
  def self.settings = @settings ||= ruby("--heap-sample=nonsense", "-e", "0")[/settings: (.*) \(/, 1].to_s.split(", ")
end

class DocsTest < Test
  include Docs

  # A list of what is wrong has no entry; the first 40 are printed.
  def assert_none(wrong) = assert(wrong.empty?, wrong.first(40).join("\n"))
end
