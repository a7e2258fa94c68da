# frozen_string_literal: true

# Runs the sampler's own tests with MRI's test-all on the patched build: TAP, a line for each test. Files run next to
# each other, since many of their tests wait for a profile that is written once a second.
# A file that holds no test, or that ended before all of its tests had run, is a failure too.
# Usage: main.rb [NAME…]     of test_heap_sampler_NAME.rb; `sampler` is test_heap_sampler.rb
#
# Environment: JOBS     so many files at the same time (4)
#              AGAIN    descriptions of tests, one a line: only the files of these run
#              SECONDS  tests that take as long are named, with their time (10)
#              RUBY_THREAD_TIMESLICE  milliseconds; MRI's 100 make tests with busy threads wait, and change threads seldom (10)

require_relative '../../tap'
require_relative '../../all/mri/build'
require_relative '../../all/mri/configuration'
require_relative '../../all/mri/part'

ENV['RUBY_THREAD_TIMESLICE'] ||= '10'
ours = Build.new(ENV.fetch('RUBY'))
# The files of this checkout; they were copied into the built source by tool/apply.
overlay = File.join(ENV.fetch('TOP'), 'src')
files = Dir.glob('{ruby,-ext-,objspace}/**/test_heap_sampler*.rb', base: "#{overlay}/test").sort
short = ->(file) { File.basename(file, '.rb')[/\Atest_heap_sampler_?(.*)/, 1].then { |name| name.empty? ? 'sampler' : name } }
there = files.map(&short)
files.select! { |file| ARGV.include?(short.call(file)) } unless ARGV.empty?
again = ENV.fetch('AGAIN', '').lines.map { |line| line[/\A\w+/] }
files.select! { |file| again.include?(File.basename(file, '.rb').delete_prefix('test_')) } unless again.empty?

run = lambda do |file|
  name = File.basename(file, '.rb').delete_prefix('test_')
  copy = "#{ours.src}/test/#{file}"
  if !File.file?(copy) || File.binread(copy) != File.binread("#{overlay}/test/#{file}")
    Tap.report(false, name, ["src/test/#{file} is not in the built source, or not as it is here: run make build"])
    next
  end
  # Memory and time are measured as MRI measures them: no test is left out.
  results = TestAll.new(name, [file], []).run(ours, Configuration.new('own'))
  Tap.results(name, results, seconds: Float(ENV.fetch('SECONDS', '10')))
end

# Stopped, it leaves nothing running: Part#run ends its process.
%w[TERM INT HUP].each { |signal| trap(signal) { exit 1 } }
# Those that take longest begin first, so that none of them is left for the end.
LONGEST = %w[malloc_truth malloc sampler gcs holders options account socket auto lifetime listeners].freeze
work = Queue.new(files.sort_by { |file| [LONGEST.index(short.call(file)) || LONGEST.size, file] }).close
Array.new(Integer(ENV.fetch('JOBS', '4'))) {
  Thread.new { while (file = work.pop) do run.call(file) end }
}.each(&:join)
Tap.report(false, 'test_heap_sampler*.rb', ["no such test file in src/test; there are: #{there.join(', ')}"]) if files.empty?
Tap.finish
