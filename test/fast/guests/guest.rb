# frozen_string_literal: true

# For the programs under test: a database in another process, and what guests.rb waits for. All files are in FOLDER.

require "socket"

FOLDER = ENV.fetch("GUEST_FOLDER")
PATIENCE = 60

# Lines that must be the same with and without sampling. One write a line, since several processes write.
def report(*lines) = lines.each { |line| File.write("#{FOLDER}/report", "#{line}\n", mode: "a") }

# A connection to the process that answers each line with "row for LINE".
class Database
  def initialize
    @socket = TCPSocket.new("127.0.0.1", Integer(ENV.fetch("GUEST_DATABASE")))
    @socket.timeout = PATIENCE
  end

  def right?(query)
    @socket.write("#{query}\n")
    @socket.gets == "row for #{query}\n"
  rescue IO::TimeoutError
    false
  end

  def close = @socket.close
end

# How many queries get their own answers. Lost bytes stay lost, so the first wrong answer ends it.
def right_answers(connections, queries)
  databases = Array.new(connections) { Database.new }
  right = (0...queries).flat_map { |query| databases.each_with_index.map { |database, index| [database, "select #{index}-#{query}"] } }
                       .take_while { |database, query| sleep(0.002) && database.right?(query) }
  databases.each(&:close)
  "#{right.size} of #{connections * queries} answers right"
end

# New files take the lowest free numbers. What is written to each is read from it.
def right_files(count)
  files = Array.new(count) { |index| File.open("#{FOLDER}/file-#{index}", "w+") }
  20.times { |round| files.each_with_index { |file, index| sleep(0.001) && file.write("round #{round} of #{index}\n") && file.flush } }
  right = files.each_with_index.count { |file, index| file.rewind == 0 && file.read == Array.new(20) { |round| "round #{round} of #{index}\n" }.join }
  files.each(&:close)
  "#{right} of #{count} files right"
end

# The kinds of this process's descriptors, without their numbers.
def descriptors
  kinds = Dir.children("/proc/self/fd").filter_map { |number| File.readlink("/proc/self/fd/#{number}") rescue nil }
  kinds.grep_v(%r{\A/proc/}).map { |kind| kind[/\A[a-z_]+:\[?[a-z]*/]&.delete("[") || File.basename(kind) }.tally.sort.map { |kind, count| "#{count} #{kind}" }.join(", ")
end

# The control socket of this process has answered; without sampling there is none.
def wait_for_answers(name)
  File.write("#{FOLDER}/ask-#{name}.new", Process.pid.to_s)
  File.rename("#{FOLDER}/ask-#{name}.new", "#{FOLDER}/ask-#{name}")
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
  sleep 0.01 until (done = File.exist?("#{FOLDER}/asked-#{name}")) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
  report "the control socket of #{name} does not answer" unless done
end

def finished = File.write("#{FOLDER}/finished", "")
