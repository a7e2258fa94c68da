# frozen_string_literal: true

# Prints what leaks, in five lines, and writes the page.
# Usage: ruby answer.rb FOLDER PAGE

require "heapsample"

folder, page = ARGV
series = HeapSample::Series.all([folder])
diagnosis = HeapSample::Diagnosis.new(series)
found = diagnosis.to_h[:processes].first
leak = found[:findings].find { |finding| finding[:kind].to_s == "leak" }
abort "#{found[:verdict][:sentence]} This program has a leak. Run `heapsample #{folder}` for the figures." unless leak && diagnosis.leak?

layout = HeapSample::Layout.new(root: Dir.pwd)
size = layout.method(:bytes)
short = ->(path) { path.delete_prefix("#{Dir.pwd}/") }
holder = leak[:holder]&.fetch(:name) || leak[:keeper]&.then { |keeper| "the #{keeper[:what]} that grows at #{short.(keeper[:line])}" }
low, high = leak[:interval_per_hour].map(&size)

puts <<~TEXT

  Leak (#{leak[:grade]}): memory allocated at one line grew by #{size.(leak[:bytes])} in #{(leak[:bytes] * 3600 / leak[:bytes_per_hour]).round} s.
    Line:         #{short.(leak[:line])}, mostly #{leak[:class]}
    Retained by:  #{holder || "not known: no profile has a heap walk"}
    Rate:         +#{size.(leak[:bytes_per_hour])}/hour (95% interval: #{low} – #{high})
    Next:         #{short.(RbConfig::CONFIG["bindir"])}/heapsample #{folder} prints the evidence
TEXT
begin
  HeapSample::View.new(series.find { |one| one.equal?(diagnosis.first.series) }, diagnosis: diagnosis, root: Dir.pwd).save(page)
  puts "  Page:         #{page}"
rescue HeapSample::View::Missing
  puts "  Page:         not written: this Ruby was built without the viewer"
end
