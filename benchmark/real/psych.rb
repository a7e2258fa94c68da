# Psych writes settings, translations and records as YAML and reads them again.
# Usage: ruby psych.rb ROUNDS
require "psych"

SETTINGS = {
  "defaults" => { "adapter" => "sqlite3", "pool" => 5, "timeout" => 5000, "flags" => [true, false, nil, 1.5] },
  "locales" => Array.new(40) { |i| { "key#{i}" => "a text with %{count} of: #{i}", "multi" => "first\nsecond\n  third\n" } },
  "services" => (1..30).to_h { |i| ["service-#{i}", { "image" => "app:1.#{i}", "ports" => ["80:#{8000 + i}"], "env" => { "LEVEL" => "info" } }] },
}.freeze
RECORDS = Array.new(150) { |i| { id: i, name: "name #{i}", tags: %w[a b c], address: { street: "#{i} Long Street", zip: format("%05d", i) } } }
BASE = "base: &base\n  image: ruby\n  steps: [checkout, build, test]\n"
JOBS = Array.new(40) { |i| "job#{i}:\n  <<: *base\n  name: \"job #{i}\"\n  after: [#{Array.new(i % 4) { |n| "job#{n}" }.join(", ")}]\n" }
ANCHORS = [BASE, *JOBS].join

Integer(ARGV[0]).times do
  settings = Psych.load(Psych.dump(SETTINGS))
  records = Psych.load(Psych.dump(RECORDS), permitted_classes: [Symbol])
  jobs = Psych.load(ANCHORS, aliases: true)
  raise "came back changed" unless settings == SETTINGS && records == RECORDS
  raise "jobs #{jobs.size}" unless jobs.size == 41 && jobs["job7"]["steps"] == %w[checkout build test]
end
