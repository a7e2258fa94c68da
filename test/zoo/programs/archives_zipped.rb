# Each three seconds the reports of all customers are written and put into a zip archive in memory, which is sent off. Nothing stays.
#
# kind: steady
# tuned: yes
# also: bloat, fragmentation
# gems: rubyzip 3.7.0
require_relative "../load"
require "zip"

def report(number, customer)
  Array.new(400) { |i| "#{number};customer #{customer};line #{i};#{(i * customer) % 977}" }.join("\n")
end

def archive(number)
  Zip::OutputStream.write_buffer do |zip|
    25.times do |customer|
      zip.put_next_entry("reports/#{number}/customer-#{customer}.csv")
      zip.write(report(number, customer))
    end
  end.string
end

Load.run(0.34) { |n| @sent = archive(n).bytesize }
