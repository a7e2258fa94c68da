# Healthy: a queue in memory delivers jobs to workers. A job that is taken is invisible until it is acknowledged. One in
# eight workers fails, and its job is visible again after four seconds; after three failures it goes to a ring of the
# last 300 dead jobs. For six seconds the queue remembers the answer to each job, so that a job which is sent again is
# not done again. Answers are forgotten by slices of a second.
#
# kind: steady
# settles: 22
require_relative "../load"
require "digest"

class JobQueue
  Job = Struct.new(:key, :arguments, :failures)
  INVISIBLE = 4
  REMEMBERED = 6
  DEAD = 300

  attr_reader :dead

  def initialize
    @waiting = Thread::Queue.new
    @taken = {}
    @answers = Hash.new { |slices, second| slices[second] = {} }
    @dead = []
  end

  def send_job(arguments)
    key = Digest::SHA256.hexdigest(arguments)
    @waiting << Job.new(key, arguments, 0) unless @answers.each_value.any? { |slice| slice.key?(key) }
  end

  def take
    return if @waiting.empty?

    @waiting.pop.tap { |job| @taken[job] = Load.seconds + INVISIBLE }
  end

  def acknowledge(job, answer)
    @taken.delete(job)
    @answers[Load.seconds.floor][job.key] = answer
  end

  # Jobs are taken in the order of their moments, so the first ones are due first.
  def tick
    now = Load.seconds
    while (job, due = @taken.first) && due < now
      @taken.delete(job)
      again(job)
    end
    @answers.delete_if { |second, _| second < now.floor - REMEMBERED }
  end

  private

  def again(job)
    failed = Job.new(job.key, job.arguments, job.failures + 1)
    return @waiting << failed if failed.failures < 3

    @dead.shift if @dead.size >= DEAD
    @dead << failed
  end
end

QUEUE = JobQueue.new

def work(job) = "#{job.key}: #{"the invoice was written, #{job.arguments.size} letters; " * 150}and sent"

Load.run(300) do |n|
  QUEUE.send_job("invoice #{n % 50 == 0 ? n - 300 : n} for customer #{n * 7_919 % 90_000}: #{"an article of the shop, " * 40}")
  2.times do
    job = QUEUE.take or break
    answer = work(job)
    # Every eighth customer has an address that no mail can reach.
    QUEUE.acknowledge(job, answer) if job.arguments[/customer (\d+)/, 1].to_i % 8 > 0
  end
  QUEUE.tick
end
