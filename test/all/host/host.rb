# frozen_string_literal: true

# A program that does what hosts do: a sequence of acts that depends on the seed alone.  It prints a line for each, and in the
# end what is left of them, which must be nothing.
# Usage: ruby host.rb SEED COUNT DATABASE [ACT,…]      in an empty folder; ASKED=FOLDER: with the file that silences the client

require "rbconfig"
require "socket"
require "timeout"
require "io/wait"
require_relative "act"
Dir.glob("#{__dir__}/acts/*.rb").sort.each { |path| require path }

$stdout.sync = true
Thread.report_on_exception = false

# What a process has that it may have left behind.
class Ledger
  def initialize
    Timeout.timeout(60) { nil }         # its thread stays
    @before = look
    # Besides the main, the timer's and Timeout's: one serves the socket, and one writes periodic profiles, which a client may start.
    @before["threads"] = [@before["threads"], 3 + 2].max if ENV["ASKED"]
  end

  # What is more or less than at first, once it has settled.
  def changes
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Act::PATIENCE
    sleep(0.05) until (left = look.reject { |what, is| settled?(@before[what], is) }).empty? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    left.map { |what, is| "#{what}: #{@before[what]}, then #{is}" }
  end

  private

  # Fewer threads and descriptors than at first are none left: a walk of every= may have had some then.
  def settled?(before, after)
    case after
    when Integer then after <= before
    when Hash then after.all? { |kind, count| count <= before.fetch(kind, 0) }
    else after == before
    end
  end

  def look
    {"threads of Ruby" => Thread.list.size, "threads" => Dir.children("/proc/self/task").size, "descriptors" => descriptors, "files" => Dir.children(".").sort,
     "signals caught" => status["SigCgt"], "signals blocked" => status["SigBlk"]}
  end

  def status = File.read("/proc/self/status").scan(/^(\w+):\s*(.*)$/).to_h

  def descriptors
    kinds = Dir.children("/proc/self/fd").filter_map { |number| File.readlink("/proc/self/fd/#{number}").sub(/:\[\d+\]/, "") rescue nil }
    kinds.tally.sort.to_h.except("/proc/#{Process.pid}/fd")
  end
end

seed, count, database, names = ARGV
random = Random.new(Integer(seed))
names = names ? names.split(",") : Array.new(Integer(count)) { Act.all.keys.sort.sample(random: random) }
children = 0
trap(:CHLD) { children += 1 }
ledger = Ledger.new
File.write("#{ENV["ASKED"]}/attach-#{Process.pid}", "") if ENV["ASKED"]

long = []
names.each_with_index do |name, index|
  act = Act.all.fetch(name).new(Random.new(Integer(seed) * 1000 + index), index, Integer(database))
  puts "#{index} #{name}: #{act.call.inspect}"
  long << [index, name, act] if act.is_a?(LongAct)
rescue StandardError, NoMemoryError => e
  puts "#{index} #{name}: #{e.class}: #{e.message} at #{e.backtrace&.first(2)}"
end
long.each { |index, name, act| puts "#{index} #{name} in the end: #{act.finish.inspect}" }

if ENV["ASKED"]
  File.write("#{ENV["ASKED"]}/quiet", "")
  sleep(0.02) until File.exist?("#{ENV["ASKED"]}/quieted")
end
begin
  puts "a child is left: #{Process.wait(-1, Process::WNOHANG).inspect}"
rescue Errno::ECHILD
  puts "no child is left"
end
puts "left: #{ledger.changes}"
