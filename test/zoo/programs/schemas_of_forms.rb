# A service checks what a form sends against a JSON schema that it makes for each customer and day. JSON::Validator keeps every schema
# that it has seen in a class variable, by a checksum of its text. The mended program tells it to clear that cache each time.
#
# kind: leak
# tuned: yes
# line: json-schema/, addressable/
# keeper: json-schema/, @@schemas, @parse_cache, @normalize_cache, JSON::Util::URI, addressable/
# gems: json-schema 6.2.1
# mended: json-schema 6.2.1
require_relative "../load"
require "json-schema"

OPTIONS = ENV["ZOO_MENDED"] == "1" ? { clear_cache: true } : {}

def schema(number)
  { "type" => "object", "required" => %w[size], # LEAK
    "properties" => { "size" => { "type" => "integer", "maximum" => number }, # LEAK
                      "colour" => { "enum" => Array.new(20) { |i| "shade #{i} of red #{number}" } } } } # LEAK
end

Load.run(16) do |n|
  JSON::Validator.validate(schema(n), { "size" => n / 2, "colour" => "shade 7 of red #{n}" }, OPTIONS) # LEAK KEEPER
end
