# frozen_string_literal: true

# For tests of the programs in examples/.

require_relative "testing"
require_relative "gems"

class ExampleTest < Test
  # What examples/NAME/run prints.
  def example(name, env = {})
    said, status = Open3.capture2e(env, "#{TOP}/examples/#{name}/run", RbConfig.ruby)
    assert(status.success?, said.lines.last(20).join)
    said
  end

  # The line of a file in examples/ that has this text.
  def line_of(text, file) = File.readlines("#{TOP}/examples/#{file}").index { |line| line.include?(text) } + 1
end
