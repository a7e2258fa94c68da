# Each job registers a block that closes what it opened, for a clean shutdown. The blocks are called at the end only, and
# each refers to the job's binding, with its rows.
#
# kind: leak
# rate: 300000
require_relative "../load"

module Shutdown
  HOOKS = []
  def self.before(&hook) = HOOKS << hook # LEAK KEEPER
end

class Job
  def initialize(number) = @number = number

  def run
    rows = Array.new(40) { |i| "row #{i} of job #{@number}" } # LEAK
    report = rows.join(", ")
    Shutdown.before { report.clear } # LEAK
    rows.sum(&:size)
  end
end

Load.run(60) { |n| Job.new(n).run } # LEAK
