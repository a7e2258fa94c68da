# frozen_string_literal: true

# Which deploy a profile is of, and which host it is from.

require_relative "../../testing"
require_relative "builds"

class OriginTest < Test
  include Builds

  OLD = Builds.sample_build("process_start" => "1", "process_id" => 1, "host" => "web-1", "deploy" => "v1", "title" => "puma: cluster worker 0")
  NEW = Builds.sample_build("process_start" => "2", "process_id" => 2, "host" => "web-1", "deploy" => "v2", "title" => "puma: cluster worker 0",
                     "taken_ns" => Build::STARTED + 20 * Build::MINUTE)
  HERE = {width: 120, root: "/srv"}.freeze

  test "a report says which process it is of, where that ran, and in which version" do
    assert_equal("Heap sample of process 1, puma: cluster worker 0, on web-1, deploy v1, ruby 3.4.5 (2025-07-16 revision 20cda200d3)",
                 OLD.profile.report.text(**HERE).to_s.lines.first.chomp)
    assert(sample_build.profile.report.text(**HERE).to_s.start_with?("Heap sample of process 4711, ruby"))
    assert_equal(%w[web-1 v1], OLD.profile.report.to_h[:header].values_at(:host, :deploy))
  end

  test "growth from one deploy to another says so, and from one host to another" do
    assert((NEW.profile - OLD.profile).report.text(**HERE).to_s.include?("\nFrom deploy v1 to deploy v2.\n"))
    elsewhere = sample_build("process_start" => "3", "host" => "web-2", "deploy" => "v1").profile
    assert((elsewhere - OLD.profile).report.text(**HERE).to_s.include?("\nFrom host web-1 to host web-2.\n"))
    refute((OLD.profile - OLD.profile).report.text(**HERE).to_s.include?("deploy"))
    refute((sample_build.profile - OLD.profile).report.text(**HERE).to_s.include?("deploy"))
  end

  test "the diagnosis of several deploys has a column for them" do
    series = [OLD, NEW].map { |build| HeapSample::Series.new([build.profile]) }
    text = HeapSample::Diagnosis.new(series).text(**HERE).to_s
    assert(text.match?(/profiles\s+deploy\s+process$/) && text.match?(/ v2\s+puma: cluster worker 0$/) && !text.include?("host"), text)
    assert(HeapSample::Diagnosis.new(series).text(**HERE).to_markdown.include?("| deploy | process |"))
    assert_equal(%w[v1 v2], HeapSample::Diagnosis.new(series).to_h[:processes].map { |one| one[:deploy] }.sort)
  end
end
