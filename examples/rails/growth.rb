# frozen_string_literal: true

# Reads the profiles that the server wrote: what grew between two periodic ones, the last, and the
# diagnosis of all of them.
# Usage: ruby growth.rb DIRECTORY

# Of several processes (a cluster's workers) the one with the most live memory.
def largest(files)
  files.group_by { |file| file[/heap-(\d+)-/, 1] }.values.max_by do |of_process|
    GC::SampleProfile.load(of_process.last).groups(:line).total.inuse.space
  end
end

files = largest(Dir[File.join(ARGV.fetch(0), "heap-*.pb.gz")].sort)
abort "only #{files&.size.to_i} profiles: let it run longer" if !files || files.size < 3

# The first is of a server that still warms up; the last was written at its end.
earlier, later = files.values_at(1, -2).map { |file| GC::SampleProfile.load(file) }
puts "#{files.size} profiles of process #{later.meta["process_id"]}"
puts "\n== #{File.basename(files[-2])} - #{File.basename(files[1])}"
puts (later - earlier).report(top: 5)
puts "\n== #{File.basename(files[-1])}"
puts GC::SampleProfile.load(files[-1]).report(top: 8)

series = HeapSample::Series.load(files)
puts "\n== all #{files.size}"
puts series.diagnosis
