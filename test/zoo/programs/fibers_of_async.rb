# A server on async: a task and a fiber for each request, ten under way at a time, none left over.
#
# kind: steady
# tuned: yes
# gems: async 2.46.0
require_relative "../load"
require "async"

def handle(number) = Array.new(100) { |i| "<li>#{number} #{i}</li>" }.join

Async do |task|
  Load.run(150) do |n|
    task.async { sleep 0.05; handle(n) }
  end
end
