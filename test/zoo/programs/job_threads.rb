# Five threads take jobs from a queue, as Sidekiq does: each job loads rows, makes an e-mail of them and forgets them.
#
# kind: steady
# tuned: yes
# gems: mail 2.9.1
require_relative "../load"
require "logger"
require "mail"

def job(number)
  rows = Array.new(200) { |i| { id: i, text: "row #{i} of job #{number}" } }
  Mail.new(from: "a@example.com", to: "b@example.com", subject: "Job #{number}", body: rows.first(20).map { |row| row[:text] }.join("\n")).to_s.size
end

JOBS = Thread::SizedQueue.new(100)
WORKERS = Array.new(5) do
  Thread.new do
    while (number = JOBS.pop)
      job(number)
    end
  end
end

Load.run(20) { |n| JOBS << n }
