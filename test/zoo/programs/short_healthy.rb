# A short run, eight profiles: a program starts, warms up and works.
#
# kind: steady
# tuned: yes
# seconds: 17
# gems: liquid 5.14.0
require_relative "../load"
require "liquid"

TEMPLATE = Liquid::Template.parse("<h1>{{ title }}</h1>{% for i in (1..20) %}<li>{{ i }} of {{ title | upcase }}</li>{% endfor %}")
Load.run(80) { |n| TEMPLATE.render({ "title" => "Page #{n}" }) }
