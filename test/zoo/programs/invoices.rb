# A shop writes invoices as PDF by prawn, two a second: each document is much memory for a moment, and nothing stays.
#
# kind: steady
# tuned: yes
# gems: prawn 2.5.0
require_relative "../load"
require "prawn"
Prawn::Fonts::AFM.hide_m17n_warning = true

def invoice(number)
  Prawn::Document.new do
    text "Invoice #{number}", size: 20
    40.times { |i| text "#{i} article #{i * number % 97}: #{(i * 1.7).round(2)}" }
  end.render.bytesize
end

Load.run(2) { |n| invoice(n) }
