# Healthy: every seven seconds a batch computes the pay slips of 9,000 people, holds all of them until it has written the
# totals, and drops them. Between the batches, few small requests come.
#
# kind: steady
# also: bloat
# settles: 7
require_relative "../load"

Slip = Struct.new(:person, :lines, :total)

class Payroll
  def initialize = @done = 0

  # A part of the batch at a time, as a job that reads from a database does.
  def step
    @slips ||= []
    60.times { @slips << slip(@slips.size) }
    finish if @slips.size >= 9_000
  end

  def due?(second) = @slips || second > @done * 7

  private

  def slip(person) = Slip.new("person #{person}", Array.new(8) { |i| "line #{i}: #{(person * 7) % 1000}.00" }, person * 3)

  def finish
    @slips.sum(&:total)
    @slips = nil
    @done += 1
  end
end

PAYROLL = Payroll.new
Load.run(30) do |n|
  PAYROLL.step if PAYROLL.due?(Load.seconds)
  "request #{n}" * 3
end
