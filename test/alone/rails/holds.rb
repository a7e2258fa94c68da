# frozen_string_literal: true

# Exits 0 if a statement holds for the profiles of a directory, else says why not.
# Usage: ruby holds.rb grew|first|garbage|cluster|absent|leaks|no_leak DIRECTORY
#        ruby holds.rb readable DIRECTORY KIB        the interval
#        ruby holds.rb counted DIRECTORY REQUESTS

PLANTED = ["app/models/ticket/cache.rb", "Ticket::Cache.store"].freeze
GARBAGE = ["app/controllers/tickets_controller.rb", "TicketsController#seat_plan"].freeze

def planted?(key) = key && key.path.end_with?(PLANTED[0]) && key.label == PLANTED[1]
# What an entry holds beside: its key, which Rails makes of random bytes and the Hash copies.
KEYS = %w[app/models/ticket/cache.rb random/formatter.rb].freeze

def garbage?(key) = key && key.path.end_with?(GARBAGE[0]) && key.label == GARBAGE[1]

statement, directory, number = ARGV
files = Dir[File.join(directory, "heap-*.pb.gz")].sort
abort "#{files.size} profiles in #{directory}" if files.size < 4
profiles = files.map { |file| GC::SampleProfile.load(file) }
last = profiles.last
groups = last.groups(:line)

case statement
when "readable"
  profiles.each { |profile| abort "an empty profile" if profile.rows.empty? || profile.report.to_s.empty? }
  interval = last.meta["settings"]["interval"]
  abort "interval #{interval}" unless interval == Integer(number) * 1024
when "grew"
  first = (profiles[-2] - profiles[1]).groups(:line).max_by(&:space)
  abort "most grew #{first.key}" unless planted?(first.key)
  abort "#{first.space} is not significant" unless first.significant?
when "first"
  first = groups.largest(:inuse, 1).first
  abort "most is in use at #{first.key}: #{first.inuse.inspect}\n#{last.report}" unless planted?(first.key)
when "garbage"
  # Of objects: where few requests are served YJIT's compiler, which is malloc's, has allocated more.
  slots = last.groups(:line, kind: :slots)
  most = slots.largest(:alloc, 1).first
  abort "most is allocated at #{most.key}" unless garbage?(most.key)
  # What requests under way at the mark held: a few of them, of 2,000 strings each.
  share = most.inuse.space / slots.total.inuse.space
  abort "in use: #{most.inuse.inspect}, #{share}" if share > 0.1
  gone = (most.dead.space + most.young.space) / most.alloc.space
  abort "dead or young: #{gone}" if gone < 0.98
when "counted"
  # 50 alternatives a request, each sampled with probability 1 - e^(-slot / interval). Beyond 6 deviations:
  # 1 in 500 million. A few requests more were under way when wrk stopped counting.
  rows = last.rows.select { |row| row.class_name == "Ticket::Cache::Alternative" }
  estimate = rows.sum { |row| row.alloc.objects }
  truth = 50 * Integer(number)
  probability = 1 - Math.exp(-rows.first.slot_size / last.meta["settings"]["interval"].to_f)
  deviation = Math.sqrt(truth * (1 - probability) / probability)
  puts "# #{estimate.round} alternatives estimated, #{truth} made, deviation #{deviation.round}"
  abort "estimated #{estimate.round}, made #{truth}" if (estimate - truth).abs > 6 * deviation + 50 * 4
when "cluster"
  # The master forks two workers after it loaded the application; each process has files of its own.
  of_process = files.group_by { |file| file[/heap-(\d+)-/, 1] }.values
  abort "profiles of #{of_process.size} processes" unless of_process.size == 3
  leaking = of_process.count do |of_one|
    # Of objects: on a slow machine each worker leaks 3 MiB, no more than its threads and the sampler have of malloc's.
    GC::SampleProfile.load(of_one.last).groups(:line, kind: :slots).largest(:inuse, 3).any? { |group| planted?(group.key) }
  end
  abort "the planted line is among the first in #{leaking} processes" unless leaking == 2
when "absent"
  profiles.each do |profile|
    found = profile.groups(:line).find { |group| planted?(group.key) }
    abort "there is #{found.key}" if found
  end
when "leaks"
  diagnosis = GC::SampleProfile.diagnose(directory)
  first, *others = diagnosis.findings.select(&:leaks?)
  abort diagnosis.to_s unless diagnosis.leak? && planted?(first.line)
  # A gem's line leaks too where the planted line led to it.
  others.reject! { |finding| [finding.line, finding.app_line].compact.any? { |place| place.path.end_with?(*KEYS) } }
  abort "named too: #{others.inspect}\n#{diagnosis}" unless others.empty?
when "no_leak"
  diagnosis = GC::SampleProfile.diagnose(directory)
  abort diagnosis.to_s if diagnosis.leak? || diagnosis.first.unknown?
else
  abort "no such statement: #{statement}"
end
