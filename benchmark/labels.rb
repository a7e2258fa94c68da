# What labels add to a request of Rails, in instructions, by callgrind: the difference of many requests and few, so that
# start-up cancels. Needs the gems of test/alone/labels/run.
require_relative "support"

GEMS = File.join(Bench::TOP, "build/test/labels")
abort "no gems: tool/run-tests test/alone/labels/run installs them" unless File.exist?("#{GEMS}/Gemfile.lock")
REQUESTS = [60, 10].freeze
ENVIRONMENT = { "GEM_HOME" => nil, "GEM_PATH" => nil, "BUNDLE_GEMFILE" => "#{GEMS}/Gemfile", "BUNDLE_PATH" => "#{GEMS}/bundle",
                "BUNDLE_APP_CONFIG" => "#{GEMS}/bundle/config", "RAILS_ENV" => "production" }.freeze

def per_request(*labels, settings: [])
  long, short = REQUESTS.map do |n|
    Bench.instructions(Bench::RUBY, *settings, "-I", "#{Bench::TOP}/src/lib", "-rbundler/setup", Bench.here("programs/rails_requests.rb"), n.to_s, *labels,
      env: ENVIRONMENT)
  end
  (long.instructions - short.instructions).fdiv(REQUESTS[0] - REQUESTS[1])
end

Bench.title "Labels of a request of Rails, in instructions",
  "callgrind over $RUBY -I src/lib -rbundler/setup benchmark/programs/rails_requests.rb N [labels],",
  "with N = #{REQUESTS[0]} less the same with N = #{REQUESTS[1]}; controller and action are set, and cleared at the end."
none = per_request
rows = [["without", none.round, Bench.ratio(1.0), ""]]
with = per_request("labels")
rows << ['require "heap_sample/rails"', with.round, Bench.ratio(with / none), "<= 1.001"]
Bench.table ["", "instructions a request", "ratio", "target"], rows
