# frozen_string_literal: true

# The workload with other profilers in the same process. Prints what the workload prints; the file has what each of them found, as TAP.
# Usage: [FORK=no] ruby program.rb FILE [PROFILER…]
COUNT = 5000
file = ARGV.shift
require_relative "profilers"
profilers = ARGV.to_h { |name| [name, PROFILERS.fetch(name)] }

profilers.each_value(&:start)
require_relative "workload"
ours = defined?(GC::SampleProfile) && GC::SampleProfile.running?
# In the child, ours goes on as well.
in_child = -> { GC.sample_profile.save("#{file}.child.pb.gz") if ours }
kept, figures = Workload.run(COUNT, &(in_child unless ENV["FORK"] == "no"))
profilers.values.reverse_each(&:stop)
puts figures

# Ours against the truth: the number of planted objects that live, and the line of each that was sampled.
def estimate(profile)
  raw = profile.raw
  name = raw[:texts].index("Planted")
  columns = GC::SampleProfile.raw_columns
  rows = raw[:rows].select { |row| row[columns[:class]] == name }
  size, objects, variance = [%i[slot_size], %i[inuse_objects young_objects], %i[inuse_variance young_variance]].map { |names| columns.values_at(*names) }
  [rows.sum { |row| row.values_at(*objects).sum }, rows.sum { |row| row.values_at(*variance).sum / row.values_at(*size)[0]**2 }]
end

def ours_found(kept)
  profile = GC.sample_profile
  objects, variance = estimate(profile)
  lines = kept.filter_map { |object| GC::SampleProfile.stack_of(object) }.map { |stack| stack.find { |place| place.path == PLANTED_FILE }.lineno }
  right = (objects - kept.size).abs <= 5 * Math.sqrt(variance) && lines.uniq == [Workload::PLANT_LINE]
  right &&= lines.size == kept.size if GC::SampleProfile.stat[:interval] == 1
  columns = GC::SampleProfile.raw_columns
  malloc = profile.raw[:rows].any? { |row| row[columns[:malloc]] && row[columns[:inuse_samples]].positive? }
  right && malloc && format("%.0f of %d, %d stacks, all of that line; malloc too", objects, kept.size, lines.size)
end

File.open(file, "w") do |tap|
  say = ->(name, found) { tap.puts("#{found ? 'ok' : 'not ok'} - #{name}: #{found || 'not what was planted'}") }
  profilers.each { |name, profiler| say[name, profiler.found(kept, COUNT)] }
  say["ours", ours_found(kept)] if ours
end
