# frozen_string_literal: true

# The sampler's calls for memory, for files and for a thread fail, one after the other. Each call is named by its chain:
# the functions of the sampler that lead to it. Of each chain the first call fails, then one in the middle. The program
# has to compute the same, and end the same, each time.

require_relative 'faults'
require_relative 'faulty'
require_relative 'trial'
require 'etc'

# A program in a folder of its own, with calls that fail.
class Calls
  ANSWER = "77329\n"
  STATUS = 3

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

  # How many calls each chain of each kind has where nothing fails.
  def chains
    @faulty.list
    trial = run
    trouble = trial.trouble(ANSWER, STATUS, half: true) || trial.warnings.first
    raise "undisturbed: #{trouble}" if trouble

    Faulty::KINDS.to_h { |kind| [kind, @faulty.chains(kind)] }
  end

  # The trouble in words; nil where all is well; :nothing_failed if the call did not come in any of three runs.
  def fail_one(kind, chain, at, all)
    3.times do
      @faulty.fail(kind, chain, at, all: all)
      trial = run
      trouble = trial.trouble(ANSWER, STATUS, half: true) || trouble_with_warnings(kind, trial.warnings) || trouble_with_what_it_said(kind, all)
      return "#{kind} call #{at} of chain #{chain}#{' and all that follow' if all}: #{trouble}" if trouble
      return if @faulty.failed.positive?
    end
    :nothing_failed
  end

  private

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

class CallsTest < FaultsTest
  RUNS = ENV.fetch('FAULTS', 8)
  PROGRAMS = Array.new(Etc.nprocessors) { |i| Calls.new(RUBY, "#{SCRATCH}/calls/#{i}") }

  # Chains that another thread's turn decides about are not in each run.
  def self.chains
    @chains ||= Array.new(3) { PROGRAMS[0].chains }.then do |runs|
      Faulty::KINDS.to_h { |kind| [kind, runs.map { |run| run[kind] }.reduce { |some, others| some.merge(others) { |_, a, b| [a, b].min } }] }
    end
  end

  def calls_to_fail(kind)
    chains = self.class.chains[kind]
    flunk("#{chains.size} chains only") if chains.size < 100
    calls = chains.keys.map { |chain| [chain, 1] } + chains.filter_map { |chain, count| [chain, count / 2] if count > 3 }
    RUNS == 'all' ? calls : calls.sample(RUNS.to_i)
  end

  # On a busy machine threads take other turns, and the call does not come: it has three chances.
  def fail_one(program, kind, call, all)
    result = :nothing_failed
    3.times { result = program.fail_one(kind, *call, all) if result == :nothing_failed }
    result
  end

  # Fails each call that is selected, alone or with all that follow.
  def fail_each(kind, all:)
    calls = calls_to_fail(kind)
    queue = Thread::Queue.new(calls).close
    results = PROGRAMS.map do |program|
      Thread.new do
        found = []
        while (call = queue.pop)
          found << fail_one(program, kind, call, all)
          note found.last if found.last.is_a?(String)
        end
        found
      end
    end.flat_map(&:value)
    failed = results.size - results.count(:nothing_failed)
    note "#{kind}#{' and all that follow' if all}: #{failed} calls failed; #{results.size - failed} did not come"
    troubles = results.grep(String)
    assert_equal([], troubles)
    # A call that does not come shows nothing.
    flunk('too few') if failed < results.size / 2
  end

  test('an allocation fails: the program stays as it was, and sampling works again') { fail_each(:memory, all: false) }
  test('all allocations fail from one on: the program stays as it was') { fail_each(:memory, all: true) }
  test('a call for a file or a thread fails: the program stays as it was') { fail_each(:files, all: false) }
  test('all of these fail from one on: the program stays as it was') { fail_each(:files, all: true) }
end
