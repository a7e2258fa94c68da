# frozen_string_literal: true

# HeapSample::Web below Rack::Lint, in the supported series of Rack.

require_relative "programs"
require "json"

class RackTest < LabelsTest
  # Status, and whether the body is empty.
  ANSWERS = {
    **%w[/ /page /report /growth /heap.pb.gz].flat_map { |path| [["GET #{path}", [200, false]], ["HEAD #{path}", [200, true]]] }.to_h,
    "GET /nothing" => [404, false], "HEAD /nothing" => [404, true], "POST /growth" => [303, false], "GET /growth later" => [200, false],
    "POST /page" => [405, false], "GET /page of another site" => [403, false]
  }.freeze

  # A Rack of that series, with nothing else.
  def rack(series)
    home = "#{OUT}/rack-#{series}"
    return home if File.directory?("#{home}/gems")

    gem = [RbConfig.ruby, "-S", File.join(File.dirname(RbConfig.ruby), "gem")]
    said, status = Open3.capture2e(*gem, "install", "-q", "--no-document", "-i", home, "rack", "-v", "~> #{series}.0")
    assert(status.success?, said)
    home
  end

  %w[2.2 3.2].each do |series|
    test "Rack::Lint of Rack #{series} finds nothing wrong in HeapSample::Web" do
      home = rack(series)
      out, err, status = Open3.capture3({"GEM_HOME" => home, "GEM_PATH" => home, "RUBY_HEAP_SAMPLE" => "output=none"}, RbConfig.ruby, LIBRARY, "#{__dir__}/app/lint.rb")
      assert(status.success?, err)
      assert_equal ANSWERS, JSON.parse(out)
    end
  end
end
