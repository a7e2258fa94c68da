# frozen_string_literal: true

# Exits 0 if malloc's side of this process is as expected, else prints why not.
# Usage: ruby state.rb missing TEXT | not-asked TEXT     it cannot be sampled, and TEXT is in what is said
#        ruby state.rb on INTERVAL [LIBRARY]             it is sampled: big strings are found on their line
#        ruby state.rb started INTERVAL                  the same once it is started from here
#        ruby state.rb account ALLOCATOR                 the account is of that allocator

def stat = GC::SampleProfile.stat
def expect(what, expected, actual) = expected === actual || abort("#{what} is #{actual.inspect}, not #{expected.inspect}")

def missing(text)
  expect("malloc", :missing, stat[:malloc])
  expect("what is missing", Regexp.new(Regexp.escape(text)), stat[:malloc_missing])
  kept = Array.new(100_000) { Object.new }
  expect("slot samples", 1.., GC.sample_profile.rows.size)
  kept.clear
end

def on(interval, library)
  expect("malloc", :on, stat[:malloc])
  expect("its interval", interval, stat[:malloc_interval])
  $kept = Array.new(30) { "x" * 2_000_000 }; line = __LINE__
  GC.start
  first = GC.sample_profile.to_profile.groups(:line, kind: :malloc).largest(:inuse, 1).first
  expect("the first line", line, first.key.line)
  # In whole pages; one is missed with probability exp(-size / interval). Six standard deviations.
  size = 2_002_944.0
  deviation = size * Math.sqrt(30 / (Math.exp(size / interval) - 1))
  expect("its bytes", (30 * size - 6 * deviation - 1_000)..(30 * size + 6 * deviation + 1_000), first.inuse.space)
  function = GC.sample_profile.to_profile.groups(:function, kind: :malloc).largest(:inuse, 1).first.key
  expect("the function", /\Astr_enc_new.*\(.*#{library}.*\)/, function)
end

case ARGV[0]
when "missing" then missing(ARGV[1])
when "on" then on(Integer(ARGV[1]), ARGV[2])
when "started"
  expect("malloc", :standby, stat[:malloc])
  GC::SampleProfile.start
  on(Integer(ARGV[1]), nil)
when "account"
  expect("the allocator", /\A#{ARGV[1]}/, stat[:malloc_allocator])
  $kept = Array.new(50) { "x" * 1_000_000 }
  memory = GC::SampleProfile.memory
  expect("malloc's live bytes", 50_000_000..80_000_000, memory[:malloc_live])
  expect("what is unattributed", 0..memory[:rss] / 20, memory[:unattributed])
else abort "no such statement: #{ARGV[0]}"
end
