# honeybadger 6.3.0 leaves one thread behind for each time that it is told to slow down: the worker kills itself before
# it kills the thread that waits for the timeout (honeybadger-ruby #777). 6.3.1 does not.
#
# Both versions also keep each batch that was refused, since the worker ends before it clears its list. The program clears
# the list, so that only threads leak.
#
# kind: threads
# tuned: yes
# line: honeybadger/events_worker.rb
# gems: honeybadger 6.3.0
# mended: honeybadger 6.3.1
require_relative "../load"
require "honeybadger/ruby"
require "honeybadger/config"
require "honeybadger/events_worker"
require "honeybadger/backend"

class Limited # a back end that says 429 to every batch
  def event(_message) = Honeybadger::Backend::Response.new(429, "{}")
end

config = Honeybadger::Config.new(logger: Logger.new(File::NULL), debug: false, "events.batch_size": 1, "events.timeout": 10_000, backend: :null)
config.define_singleton_method(:backend) { @limited ||= Limited.new }
WORKER = Honeybadger::EventsWorker.new(config)

def work(number) = WORKER.push({ event_type: "job", n: number, text: "x" * 500 }) # LEAK

Load.run(40) do |n|
  WORKER.instance_variable_get(:@send_queue).clear
  work(n)
  WORKER.instance_variable_set(:@start_at, nil) # the hour that it pauses is over
  Array.new(2000) { |i| "job #{i}" }
end
