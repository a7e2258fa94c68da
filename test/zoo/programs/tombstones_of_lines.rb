# Large: a server for plans that are written by many people together has 90 of them open. A line that somebody changes is not removed, since
# the changes of others may refer to it: it is marked as deleted, and the new one is put behind it. Nothing sweeps the deleted lines.
#
# kind: leak
# keeper: @lines, PLANS
# starts: 6
# rate: 850000
require_relative "../load"

Line = Struct.new(:id, :after, :deleted, :text)

class Plan
  def initialize(number, count)
    @number = number
    @clock = 0
    @lines = Array.new(count) { |i| line("site 0", i, "plan #{number}, line #{i}: #{i * 17 % 900} hours for team #{i % 40}") }
  end

  # One change that came from a site.
  def change(site, place)
    old = @lines[place]
    old.deleted = true
    @lines.insert(place + 1, line(site, old.id, old.text.sub(/\d+ hours/) { |hours| "#{hours.to_i + 1} hours" })) # LEAK KEEPER
  end

  def size = @lines.size
  def page(place) = @lines[place, 160].reject(&:deleted).map { |one| "<li id=\"#{one.id.join("-")}\">#{one.text.rstrip.capitalize}</li>" }.join("\n")

  private

  def line(site, after, text) = Line.new([site, @clock += 1], after, false, text.ljust(200)) # LEAK
end

PLANS = Array.new(90) { |i| Plan.new(i, 9_000) }
SITES = Array.new(400) { |i| "site #{i}".freeze }

Load.run(1_900) do |n|
  plan = PLANS[n * 7 % 90]
  place = n * 7_919 % plan.size
  plan.change(SITES[n % 400], place) # LEAK
  plan.page([place - 20, 0].max) if n % 3 == 0
end
