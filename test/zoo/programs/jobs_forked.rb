# A runner forks a process for each job, as Resque does, and reads its result through a pipe. It keeps the results of all jobs for a
# page of status that shows the last ten. The children are many, short-lived and healthy.
#
# kind: leak
# tuned: yes
require_relative "../load"

class Runner
  def initialize = @results = []

  def run(number)
    reader, writer = IO.pipe(binmode: true)
    pid = fork { reader.close; writer.write(Marshal.dump(work(number))); writer.close }
    writer.close
    @results << Marshal.load(reader.read) # LEAK KEEPER
    reader.close
    Process.wait(pid)
  end

  def status = @results.last(10).sum(&:size)

  private

  def work(number) = Array.new(2_000) { |i| { row: i, text: "row #{i} of job #{number}" } }
end

RUNNER = Runner.new
Load.run(1.5) do |n|
  RUNNER.run(n) # LEAK
  RUNNER.status
end
