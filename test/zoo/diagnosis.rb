# frozen_string_literal: true

require "json"
require "stringio"
require_relative "../../heapsample/lib/heapsample"

# What `heapsample FOLDER --json` prints, from this process: a start of Ruby for each of hundreds would take most of the time.
module ZooDiagnosis
  module_function

  # A Hash, or nil; then `warning` yields why.
  def of(folder)
    out, errors = captured { HeapSample::Tool::CLI.new([folder, "--json"]).run }
    JSON.parse(out)
  rescue JSON::ParserError
    yield errors.lines.first.to_s.strip if block_given?
    nil
  end

  def captured
    kept = [$stdout, $stderr]
    $stdout = StringIO.new
    $stderr = StringIO.new
    yield
    [$stdout.string, $stderr.string]
  ensure
    $stdout, $stderr = kept
  end
end
