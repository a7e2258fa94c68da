# A shop renders each page with a module of filters that is made for the request. Liquid caches a class for each list of
# filters, so that each request leaves a module and a class.
#
# kind: leak
# tuned: yes
# line: liquid/strainer_factory.rb, liquid/strainer_template.rb
# keeper: liquid/strainer_factory.rb, strainer_class_cache, @strainer_template_class_cache
# gems: liquid 5.14.0
require_relative "../load"
require "liquid"

TEMPLATE = Liquid::Template.parse("<h1>{{ title | money }}</h1>{% for i in (1..20) %}<li>{{ i }} of {{ title | upcase }}</li>{% endfor %}")

def filters(currency)
  Module.new do # LEAK
    define_method(:money) { |amount| "#{amount} #{currency}" } # LEAK
  end
end

def page(number) = TEMPLATE.render({ "title" => "Page #{number}" }, filters: [filters("EUR")]) # LEAK KEEPER

Load.run(60) { |n| page(n) }
