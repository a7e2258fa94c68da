# frozen_string_literal: true

# Prints what leaks, in six lines, and writes the page.
# Usage: ruby answer.rb FOLDER PAGE       exit status 75: a longer run is needed

require "heapsample"

folder, page = ARGV
diagnosis = HeapSample::Diagnosis.of(folder)
process = diagnosis.to_h[:processes].first
finding = process[:findings].first
unless finding && diagnosis.first.grows?
  warn "#{process[:sentence]} This program has a leak, and needs a longer run. Run `heapsample #{folder}` for the figures."
  exit 75
end

layout = HeapSample::Layout.new(root: Dir.pwd)
size = layout.method(:bytes)
short = ->(path) { path.delete_prefix("#{Dir.pwd}/") }
line = finding[:lines].first
holder = finding[:holder]
low, high = line[:interval].map(&size)

puts <<~TEXT

  #{HeapSample::DiagnosisText::WORDS.fetch(process[:state]).capitalize}: memory that survives major GCs grew by #{size.(process[:grew])} in #{process[:seconds].round} s.
    Line:         #{short.(line[:line])}, mostly #{line[:class]}
    Retained by:  #{holder && holder[:named] ? holder[:name] : "not known: no profile has a heap walk"}
    Rate:         +#{size.(process[:bytes_per_hour])}/hour; of the line #{size.(line[:bytes])} (95% interval: #{low} – #{high})
    Next:         #{short.(RbConfig::CONFIG["bindir"])}/heapsample #{folder} prints the evidence
TEXT
begin
  HeapSample::View.new(diagnosis.first.series, diagnosis: diagnosis.text(root: Dir.pwd), root: Dir.pwd).save(page)
  puts "  Page:         #{page}"
rescue HeapSample::View::Missing
  puts "  Page:         not written: this Ruby was built without the viewer"
end
