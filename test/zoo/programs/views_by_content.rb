# A mailer compiles a Haml template for each text that it is given and keeps it by that text. The text has the customer's
# name in it, so that no two are the same.
#
# kind: leak
# tuned: yes
# line: haml, tilt, temple
# gems: haml 6.3.0
require_relative "../load"
require "haml"

module Views
  COMPILED = {}
  def self.of(text) = COMPILED[text] ||= Haml::Template.new { text } # LEAK KEEPER
end

def mail(number)
  Views.of("%p Dear customer #{number}\n%ul\n  - 3.times do |i|\n    %li= i\n").render # LEAK
end

Load.run(10) { |n| mail(n) } # LEAK
