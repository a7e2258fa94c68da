# A shop sends webhooks from background jobs. A failed job goes to a queue of retries, which notes each attempt, with
# its error and the answer, so that a person can read them and the next delay can be computed. When the job succeeds,
# its attempts are forgotten. After the third failure the queue gives the job up, and its attempts stay.
#
# kind: leak
# keeper: @attempts, RETRIES, RetryQueue
# rate: 390000
require_relative "../load"
require "securerandom"

Job = Struct.new(:id, :address, :payload)

class RetryQueue
  LAST = 3

  Attempt = Struct.new(:at, :error, :answer)

  def initialize
    @waiting = [] # [the time when it is due, the job], the earliest first
    @attempts = {}
  end

  def size = @waiting.size

  def failed(job, error, answer)
    attempts = (@attempts[job.id] ||= []) # LEAK KEEPER
    attempts << Attempt.new(Load.seconds, error.message, answer) # LEAK
    return if attempts.size == LAST

    due = Load.seconds + (0.4 * (2**attempts.size))
    place = @waiting.bsearch_index { |time, _| time > due } || @waiting.size
    @waiting.insert(place, [due, job])
  end

  def succeeded(job) = @attempts.delete(job.id)

  def due
    @waiting.shift.last if @waiting.any? && @waiting.first.first <= Load.seconds
  end
end

class DeliveryError < StandardError; end

RETRIES = RetryQueue.new
LETTERS = "abcdefghijklmnopqrstuvwxyz".chars.freeze

# The other side's answer: one address of six is gone for good, others fail now and then.
def answer_from(address, job)
  return [200, "ok"] unless address % 6 == 0 || rand < 0.2

  text = "<html><title>502 Bad Gateway</title><p>order #{job.id} " # LEAK
  text << "no upstream for shop-#{address}.example: #{LETTERS.sample(12).join}; " * 14 # LEAK
  [502, text]
end

def deliver(job)
  status, answer = answer_from(job.address, job) # LEAK
  raise DeliveryError, "POST https://shop-#{job.address}.example/hooks answered #{status}" unless status == 200 # LEAK

  RETRIES.succeeded(job)
rescue DeliveryError => e
  RETRIES.failed(job, e, answer) # LEAK
end

Load.run(480) do |n|
  job = Job.new(SecureRandom.uuid, n % 900, "{\"order\":#{n},\"items\":[#{Array.new(20) { |i| n * i % 977 }.join(",")}]}")
  deliver(job)
  while (again = RETRIES.due)
    deliver(again) # LEAK
  end
end
