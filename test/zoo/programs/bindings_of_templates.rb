# A mailer renders ERB with a binding, and keeps the bindings of the mails that were sent for a preview that was removed. A binding
# keeps all local variables of the method.
#
# kind: leak
# rate: 270000
require_relative "../load"
require "erb"

class Mailer
  TEMPLATE = ERB.new("Hello <%= name %>, <% rows.each do |row| %><%= row %> <% end %>")
  PREVIEWS = []

  def welcome(number)
    name = "user #{number}" # LEAK
    rows = Array.new(20) { |i| "offer #{i} for #{name}" } # LEAK
    rows.sort!
    context = binding # LEAK
    PREVIEWS << context # LEAK KEEPER
    TEMPLATE.result(context)
  end
end

Load.run(50) { |n| Mailer.new.welcome(n) } # LEAK
