# What labels add to a request of Rails, in instructions, by callgrind. Needs the gems of test/fast/labels/run.
require_relative "support"

GEMS = File.join(Bench::TOP, "build/test/labels")
abort "no gems: tool/run-tests test/fast/labels/run installs them" unless File.exist?("#{GEMS}/Gemfile.lock")
REQUESTS = 100
ENVIRONMENT = { "GEM_HOME" => nil, "GEM_PATH" => nil, "BUNDLE_GEMFILE" => "#{GEMS}/Gemfile", "BUNDLE_PATH" => "#{GEMS}/bundle",
                "BUNDLE_APP_CONFIG" => "#{GEMS}/bundle/config", "RAILS_ENV" => "production" }.freeze

def per_request(*labels)
  counted = Bench.instructions(Bench::RUBY, "-I", "#{Bench::TOP}/src/lib", "-rbundler/setup", Bench.here("programs/rails_requests.rb"), REQUESTS.to_s, *labels,
    within: "s_with_labels", env: ENVIRONMENT)
  counted.instructions.fdiv(REQUESTS)
end

Bench.title "Labels of a request of Rails, in instructions",
  "callgrind over $RUBY -I src/lib -rbundler/setup benchmark/programs/rails_requests.rb N [labels],",
  "with N = #{REQUESTS}, counted from the first of them on; controller and action are set, and cleared at the end."
none = per_request
rows = [["without", none.round, Bench.ratio(1.0), ""]]
with = per_request("labels")
rows << ['require "heap_sample/rails"', with.round, Bench.ratio(with / none), "<= 1.001"]
Bench.table ["", "instructions a request", "ratio", "target"], rows
