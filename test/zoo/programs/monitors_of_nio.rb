# A server registers the pipe of each job with a selector of nio4r, and stores the job in the monitor. The jobs that are cancelled are
# never deregistered, so that the selector retains them.
#
# kind: leak
# line: nio4r
# keeper: selectables, SELECTOR, NIO::Selector
# gems: nio4r 2.7.5
# rate: 1600000
require_relative "../load"
require "nio"

SELECTOR = NIO::Selector.new

class Job
  def initialize(number)
    @number = number
    @output = Array.new(3_000) { |i| "output of job #{number}, line #{i}: #{i * 17 % 1009} files of the folder done" } # LEAK
    @reader, @writer = IO.pipe
  end

  def start
    monitor(@reader).value = self # LEAK
    @writer << "started"
  end

  def monitor(pipe) = SELECTOR.register(pipe, :r) # LEAK KEEPER

  def finish
    SELECTOR.deregister(@reader)
    [@reader, @writer].each(&:close)
  end

  def size = @output.sum(&:size)
end

Load.run(9) do |n|
  job = Job.new(n) # LEAK
  job.start # LEAK
  job.size
  job.finish unless n % 3 == 0
end
