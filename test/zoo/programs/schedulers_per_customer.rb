# Each new customer gets a Rufus scheduler of its own for reminders, one in two seconds. Nothing shuts a scheduler down when the
# customer leaves, so that its thread runs for ever.
#
# kind: threads
# also: leak
# line: rufus/, fugit/, et-orbi
# gems: rufus-scheduler 3.9.2
# rate: 800000
require_relative "../load"
require "rufus-scheduler"

class Reminders
  def initialize(customer)
    @scheduler = Rufus::Scheduler.new(frequency: 5) # LEAK
    @scheduler.every("1h") { customer.upcase }
  end
end

Load.run(0.7) do |n|
  Reminders.new("customer #{n}") # LEAK
  Array.new(5_000) { |i| "row #{i} of #{n}" }.join
end
