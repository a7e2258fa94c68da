# frozen_string_literal: true

# The sampler's calls for memory, for files and for a thread fail, one after the other: the first, the second, … until
# the program gets through without. It has to compute the same, and end the same, each time. TAP.
# Usage: ruby countdown.rb RUBY DIR     environment: FAULTS=N of the calls fail (12), or FAULTS=all

require_relative '../../tap'
require_relative 'faulty'
require_relative 'trial'

class Countdown
  ANSWER = "77329\n"
  STATUS = 3
  # The first few calls, which make the tables, and so many of the rest.
  FIRST = 15
  RUNS = ENV.fetch('FAULTS', 12)

  WARNINGS = {
    memory: ["heap-sample: not enough memory; sampling is off\n",
             "heap-sample: the sampler has no memory; from now on profiles have gaps (GC::SampleProfile.stat counts them)\n",
             %r{\Aheap-sample: cannot write \S+/exit(?:\.\d+)?\.pb\.gz: Cannot allocate memory\n\z},
             %r{\Aheap-sample: the profile at exit is lost: \S+/exit(?:\.\d+)?\.pb\.gz: Cannot allocate memory\n\z}],
    files: [%r{\Aheap-sample: cannot write \S+/exit(?:\.\d+)?\.pb\.gz: No space left on device(?:; sampling continues)?; free some space, or set another output=\n\z},
            "heap-sample: cannot start the thread for periodic profiles: Resource temporarily unavailable\n"],
  }.freeze

  def initialize(ruby, dir)
    @ruby = ruby
    @dir = dir
    FileUtils.mkdir_p(dir)
    @faulty = Faulty.new(ruby, "#{__dir__}/../../../src", dir)
  end

  # Fails each call that is selected, alone or with all that follow.
  def fail_each(kind, all:)
    last = calls(kind)
    numbers(last).each { |number| fail_one(kind, number, all) }
    # A number that is not reached would show nothing.
    flunk("#{last} calls only") if last < 1_000
  end

  private

  def numbers(last)
    return 1..last if RUNS == 'all'

    (1..FIRST).to_a | (1..RUNS.to_i).map { |i| FIRST + (last - FIRST) * i / (RUNS.to_i + 1) }
  end

  def calls(kind)
    @faulty.never
    trial = run
    trouble = trial.trouble(ANSWER, STATUS, half: true) || trial.warnings.first
    flunk("undisturbed: #{trouble}") if trouble
    @faulty.counts[kind]
  end

  def fail_one(kind, number, all)
    @faulty.fail(kind, number, all: all)
    trial = run
    trouble = trial.trouble(ANSWER, STATUS, half: true) || trouble_with_warnings(kind, trial.warnings) || trouble_with_what_it_said(kind, all)
    flunk("#{kind} call #{number}#{' and all that follow' if all}: #{trouble}") if trouble
  end

  # Of each kind one a process; there are two.
  def trouble_with_warnings(kind, warnings)
    odd = warnings.reject { |line| WARNINGS[kind].any? { |known| known === line } }
    return "said #{odd.first(3).join}" unless odd.empty?

    repeated = warnings.tally.find { |_, times| times > 2 }
    "said #{repeated[1]} times: #{repeated[0]}" if repeated
  end

  # The child and the program say at their ends how many allocations failed, and whether sampling still works.
  def trouble_with_what_it_said(kind, all)
    said = Dir.glob("#{@files}/said-*").map { |path| File.read(path).split }
    return "#{said.size} processes spoke" unless said.size == 2
    return if all

    return "sampling does not work any more: #{said}" unless said.all? { |_, works| works == 'true' }
    return unless kind == :files && said.any? { |failed,| failed != '0' }

    'allocations failed'
  end

  def run
    @files = "#{@dir}/files"
    FileUtils.rm_rf(@files)
    FileUtils.mkdir(@files)
    Trial.new(@files).run(@faulty.env, @ruby, '--disable=gems', '-W0',
                          "--heap-sample=interval=64,malloc=4k,every=1,output=#{@files}/exit.pb.gz", "#{__dir__}/program.rb", @files)
  end
end

countdown = Countdown.new(*ARGV)
test('an allocation fails: the program stays as it was, and sampling works again') { countdown.fail_each(:memory, all: false) }
test('all allocations fail from one on: the program stays as it was') { countdown.fail_each(:memory, all: true) }
test('a call for a file or a thread fails: the program stays as it was') { countdown.fail_each(:files, all: false) }
test('all of these fail from one on: the program stays as it was') { countdown.fail_each(:files, all: true) }
Tap.finish
