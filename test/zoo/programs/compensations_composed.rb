# A booking service keeps what undoes a booking if a later step fails. It composes (Proc#>>) each step with those before, and starts anew
# only when something fails, which has not happened yet; so one Proc leads to the guests of all bookings.
#
# kind: leak
# keeper: @undo, BOOKINGS
# rate: 410000
require_relative "../load"
require "json"

class Bookings
  def initialize
    @rooms = Hash.new { |rooms, name| rooms[name] = Array.new(365, 0) }
    @undo = ->(count) { count }
  end

  def book(text)
    booking = JSON.parse(text) # LEAK
    nights = booking["nights"].each { |night| @rooms[booking["room"]][night] += 1 }
    undone_by { |count| nights.each { |night| @rooms[booking["room"]][night] -= 1 } && (count + 1) } # LEAK
    confirmation(booking)
  end

  def cancel_all
    @undo.call(0)
    @undo = ->(count) { count }
  end

  private

  def undone_by(&step) = @undo = step >> @undo # LEAK KEEPER

  def confirmation(booking)
    letters = Array.new(70) do |place|
      rows = booking["guests"].map { |guest| "<tr><td>#{guest["name"].sub("guest", "Guest")}</td><td>#{guest["passport"]}</td><td>#{guest["mail"][/\A\w+/]}</td></tr>" }
      { place: place, html: "<table>#{rows.join("\n")}</table>", text: rows.map { |row| row.gsub(/<[^>]+>/, " ") } }
    end
    JSON.generate(room: booking["room"], letters: letters)
  end
end

def request(number)
  guests = Array.new(1 + (number % 7)) { |i| { name: "guest #{i} of booking #{number}", passport: "P#{number * 31}#{i}", mail: "guest#{i}@family#{number}.example" } }
  JSON.generate(room: "room #{number % 300}", nights: Array.new(3) { |i| (number + i) % 365 }, guests: guests, wishes: "a quiet room, please " * 8)
end

BOOKINGS = Bookings.new
Load.run(120) { |n| BOOKINGS.book(request(n)) } # LEAK
