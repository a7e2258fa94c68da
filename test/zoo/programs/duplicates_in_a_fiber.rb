# A Fiber drops records that it has seen before. It runs as long as the program, and it remembers the keys of all records in a local
# variable of its block.
#
# kind: leak
# keeper: seen, filter
# rate: 310000
require_relative "../load"

def unique_records
  Fiber.new do |record|
    seen = {}
    loop do
      key = [record[:customer], record[:sku], "#{record[:day]} #{record[:hour]}"] # LEAK
      fresh = !seen.key?(key)
      seen[key] = record[:sku] if fresh # LEAK KEEPER
      record = Fiber.yield(fresh)
    end
  end
end

filter = unique_records
Load.run(1300) do |n|
  n -= 3 if n % 5 == 0
  record = { customer: "customer #{n % 9_000}", sku: "sku-with-a-long-prefix-#{n}", day: "day #{n / 900}", hour: "#{n % 24} o'clock in the morning" } # LEAK
  text = record.map { |name, value| "#{name}=#{value}" }.join("&")
  filter.resume(record) && text.split("&").map(&:upcase).size
end
