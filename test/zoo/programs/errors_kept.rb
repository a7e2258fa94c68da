# A job runner keeps each error for a report at the end of the day: the exception has its backtrace, and its binding's
# receiver, the job with its rows.
#
# kind: leak
# tuned: yes
require_relative "../load"

class Job
  def initialize(number)
    @number = number
    @rows = Array.new(60) { |i| "row #{i} of job #{number}" } # LEAK
  end

  def run
    raise KeyError.new("no total in job #{@number}", receiver: self, key: :total) if @number % 3 == 0 # LEAK

    @rows.sum(&:size)
  end
end

class Runner
  def initialize = @failures = []

  def call(job)
    job.run # LEAK
  rescue KeyError => e
    @failures << e # KEEPER
  end
end

RUNNER = Runner.new
Load.run(200) { |n| RUNNER.call(Job.new(n)) } # LEAK
