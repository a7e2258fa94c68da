# Large: a server loads its tables into a local variable of the method that serves. The method has another local variable, a Hash that
# has an array of requests for each client, and a client is never removed.
#
# kind: leak
# keeper: requests_by_client
# starts: 8
# rate: 1600000
require_relative "../load"

Entry = Struct.new(:key, :value, :tags)

def load_tables
  Array.new(30) do |table|
    Array.new(12_000) { |i| [i, Entry.new("key #{i} of table #{table}", "value #{i * table} ".ljust(1_200, "value "), ["tag-#{i % 7}", "table-#{table}"])] }.to_h
  end
end

def parse(number)
  { path: "/tables/#{number % 30}/#{number * 13 % 12_000}", headers: Array.new(14) { |i| "X-Header-#{i}: value #{number * i} of the client" }, query: "page=#{number}" } # LEAK
end

def serve
  tables = load_tables
  requests_by_client = {}
  Load.run(1000) do |n|
    request = parse(n) # LEAK
    (requests_by_client["10.0.#{n % 9}.#{n / 400}"] ||= []) << request # LEAK KEEPER
    entry = tables[n % 30][n * 13 % 12_000]
    Array.new(8) { |i| "#{entry.key}: #{entry.value[0, 80]} #{i}" }.join("\n")
  end
end

serve
