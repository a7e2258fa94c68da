# A page is rendered by Tilt with locals that have the customer's own names. Tilt compiles a template anew for each set of
# names and keeps all of them.
#
# kind: leak
# tuned: yes
# line: tilt/template.rb, tilt-
# keeper: tilt/template.rb, @compiled_method
# gems: tilt 2.9.0
require_relative "../load"
require "tilt"
require "tilt/erb"

TEMPLATE = Tilt::ERBTemplate.new { "<ul><% 10.times do |i| %><li><%= i %> of <%= title.upcase %></li><% end %></ul>" }

def page(number) = TEMPLATE.render(Object.new, { title: "Page #{number}", "field_#{number}": 1 }) # LEAK KEEPER

Load.run(80) { |n| page(n) } # LEAK
