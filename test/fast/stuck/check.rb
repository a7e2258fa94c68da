# frozen_string_literal: true

# What `heapsample why` says of the profile that servers.rb wrote. TAP.
# Usage: ruby check.rb FILE THREADS TOP
require "json"
require "rbconfig"
require_relative "../../tap"

FILE, THREADS, TOP = ARGV
def said(*arguments)
  IO.popen([RbConfig.ruby, "-I", "#{TOP}/src/lib", "#{TOP}/src/libexec/heapsample", *arguments], &:read)
end

LINE = File.readlines("#{__dir__}/servers.rb").index { |line| line.end_with?("# LOST\n") } + 1

test "of #{THREADS} threads those alone are named that wait for the queue which nobody serves" do
  places = JSON.parse(said("why", "--json", FILE)).fetch("stuck")
  equal [["waits for Thread::Queue", "servers.rb", LINE, 7]], places.map { |place| [place["what"], File.basename(place["path"]), place["line"], place["threads"]] }
  assert places.first["bytes"] > 7 * 320_000, places.first      # each is so long that it is sampled for certain
  assert Integer(THREADS) > 25, "only #{THREADS} threads: did the servers start?"
end

test "as text, with the line" do
  text = said("why", FILE)
  assert text.include?("7 threads can never wake: nobody else has what they wait for."), text
  assert text.match?(/^ +7 +[\d.]+ MiB +waits for Thread::Queue +.*servers\.rb:#{LINE}$/), text
end

Tap.finish
