# frozen_string_literal: true

# Exits 0 if a statement holds for the profile of an example and what that printed, else says why not.
# Usage: ruby holds.rb big-strings|c-leak|objects PROFILE OUTPUT

# Beyond 6 deviations: once in 500 million runs. (The 95% interval would miss one run in twenty.)
DEVIATIONS = 6
# HeapSample::Statistics has it, not for others.
EXACT_ERROR = 1e-4

statement, file, output = ARGV
profile = GC::SampleProfile.load(file)
printed = File.read(output)
retained = printed[/^retained: (.*)/, 1] or abort "the program did not say what it retained\n#{printed}"
numbers = retained.scan(/\d+/).map(&:to_i)

first = ->(by, kind = :both) { profile.groups(by, kind: kind).largest(:inuse, 1).first }
same_place = lambda do |group, line, label|
  place = group.key
  abort "first is #{place.to_a}, not #{line}" unless place.path.end_with?(line[/.*(?=:)/]) && place.line == line[/\d+\z/].to_i && place.label == label
end
near = lambda do |what, estimate, truth, deviation|
  puts "# #{what}: estimated #{estimate.round}, truly #{truth}, deviation #{deviation.round}"
  abort "#{what}: estimated #{estimate.round}, truly #{truth}" if (estimate - truth).abs > DEVIATIONS * deviation
end

case statement
when "big-strings"
  bytes, count = numbers
  %i[both malloc].each { |kind| same_place.(first.(:line, kind), "big_strings.rb:12", "Archive#store") }
  line = first.(:line)
  truth = bytes + count   # a NUL ends each
  # Below this relative error a figure is called exact: a small block of the line's may be a sample, too.
  slack = [2 * count, DEVIATIONS * EXACT_ERROR * truth].max
  low, high = line.malloc.space_interval
  abort "#{truth} is not in #{low}..#{high}" unless truth.between?(low - slack, high + slack)
  abort "the interval is #{high - low} wide" if high - low > truth / 100
when "c-leak"
  bytes = numbers[0]
  %i[both malloc].each { |kind| same_place.(first.(:line, kind), "leaks_in_c/leak.rb:18", "Gallery#add") }
  function = first.(:function, :malloc)
  abort "the first function is #{function.key}" unless function.key == "thumbnail_decode (thumbnail.so)"
  library = first.(:library, :malloc)
  abort "the first library is #{library.key}" unless library.key == "thumbnail.so"
  near.("bytes of the function", function.inuse.space, bytes, Math.sqrt(function.inuse.variance))
when "objects"
  count = numbers[0]
  %i[both slots].each { |kind| same_place.(first.(:line, kind), "leaks_objects.rb:14", "Bus#subscribe") }
  line = first.(:line, :slots)
  near.("objects of the line", line.inuse.objects, 3 * count, Math.sqrt(line.inuse.objects_variance))
else
  abort "no such statement: #{statement}"
end
