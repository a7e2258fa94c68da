# A server starts a thread for each request; each ends when its request is done.
#
# kind: steady
# tuned: yes
require_relative "../load"

def handle(number) = Array.new(100) { |i| "<li>#{number} #{i}</li>" }.join

Load.run(150) do |n|
  Thread.new { sleep 0.02; handle(n) }
end
