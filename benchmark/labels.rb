# What labels add to a request of Rails, in instructions, by callgrind. Needs the gems of examples/rails/run.
require_relative "support"

GEMS = File.join(Bench::TOP, "build/examples/rails")
abort "no gems: examples/rails/run installs them" unless File.exist?("#{GEMS}/Gemfile.lock")
REQUESTS = 300
ENVIRONMENT = { "GEM_HOME" => nil, "GEM_PATH" => nil, "BUNDLE_GEMFILE" => "#{GEMS}/Gemfile", "BUNDLE_PATH" => "#{GEMS}/bundle",
                "BUNDLE_APP_CONFIG" => "#{GEMS}/bundle/config", "RAILS_ENV" => "production" }.freeze
KINDS = { "text" => "one line of text", "page" => "an ERB page: 3 queries, 20 orders" }.freeze

def per_request(*arguments)
  counted = Bench.instructions(Bench::RUBY, "-I", "#{Bench::TOP}/src/lib", "-rbundler/setup", Bench.here("programs/rails_requests.rb"), REQUESTS.to_s, *arguments,
    within: "s_with_labels", env: ENVIRONMENT)
  counted.instructions.fdiv(REQUESTS)
end

Bench.title "Labels of a request of Rails, in instructions",
  "callgrind over $RUBY -I src/lib -rbundler/setup benchmark/programs/rails_requests.rb N text|page [labels] [yjit],",
  "with N = #{REQUESTS}, counted when 1,000 were served. With labels controller and action are set, and cleared at the end;",
  "without, the method that does it is removed beforehand.",
  "`benchmark/run labels -- page` measures that one alone."
rows = (ARGV.empty? ? KINDS.keys : ARGV).product([[], ["yjit"]]).map do |kind, yjit|
  none, with = per_request(kind, *yjit), per_request(kind, "labels", *yjit)
  ["#{KINDS.fetch(kind)}#{", YJIT" if yjit.any?}", none.round, with.round, (with - none).round, Bench.ratio(with / none)]
end
Bench.table ["a request", "without labels", "with", "more", "ratio (target: 1.001)"], rows
