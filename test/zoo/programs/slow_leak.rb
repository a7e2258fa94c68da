# A slow leak below much traffic, two minutes: one request in ten leaves a line in an audit trail, some 60 KiB a second.
#
# kind: leak
# tuned: yes
# seconds: 121
require_relative "../load"

class Trail
  def initialize = @lines = []
  def add(user, action) = @lines << { user: "user #{user}", action: action, at: Time.now.to_s, notes: Array.new(30) { |i| "note #{i} of #{user}" } } # LEAK KEEPER
end

TRAIL = Trail.new
Load.run(250) do |n|
  Array.new(60) { |i| "<li>#{n} #{i}</li>" }.join
  TRAIL.add(n, "viewed") if n % 10 == 0 # LEAK
end
