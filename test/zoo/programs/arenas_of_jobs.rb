# Healthy: two worker threads work on jobs of four to nine seconds. A job puts all that it makes into its arena, 1 MB to 20 MB,
# and the arena is dropped at the end of the job. Within a job, memory only grows.
#
# kind: steady
# also: bloat
# settles: 12
require_relative "../load"

class Job
  def initialize(random) = (@arena, @steps, @share = [], 40 + random.rand(50), 100 + random.rand(1200))

  def run
    @steps.times do |step|
      @arena.concat(Array.new(@share) { |i| "node #{i} of step #{step}" })
      sleep 0.1
      return if Load.seconds > Load::SECONDS
    end
  end
end

workers = Array.new(2) do |index|
  Thread.new do
    random = Random.new(index)
    Job.new(random).run while Load.seconds < Load::SECONDS
  end
end
workers.each(&:join)
