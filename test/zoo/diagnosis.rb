# frozen_string_literal: true

require "json"
require "stringio"
require_relative "../../src/lib/heapsample/tool"

# What `heapsample FOLDER --json` prints, from this process: a start of Ruby for each of hundreds would take most of the time.
module ZooDiagnosis
  module_function

  # A Hash, or nil where there is no answer; then the block gets the reason.
  def of(folder)
    out, errors = captured { HeapSample::Tool::CLI.new([folder, "--json"]).run }
    JSON.parse(out)
  rescue JSON::ParserError
    yield errors.lines.first.to_s.strip
    nil
  rescue StandardError => e # the diagnosis is what is tested: where it fails, the others are judged all the same
    yield "#{e.class}: #{e.message.lines.first.strip} (#{e.backtrace.first})"
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
