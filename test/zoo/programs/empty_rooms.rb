# A chat drops the members that leave, but not the rooms that are empty then.
#
# kind: leak
# tuned: yes
require_relative "../load"
require "set"
ROOMS = {}
def join(room, user) = (ROOMS[room] ||= Set.new) << user # LEAK KEEPER
def leave(room, user) = ROOMS[room].delete(user)
Load.run(150) do |n|
  3.times { |i| join("room-#{n}", "user #{n}/#{i}") } # LEAK
  3.times { |i| leave("room-#{n}", "user #{n}/#{i}") }
end
