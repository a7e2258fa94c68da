# A form is a class that is made for each request below a base class that tracks its descendants, by descendants_tracker:
# its list keeps all of them.
#
# kind: leak
# tuned: yes
# line: descendants_tracker.rb
# keeper: descendants_tracker.rb, @descendants
# gems: descendants_tracker 0.0.4
require_relative "../load"
require "descendants_tracker"

class Form
  extend DescendantsTracker
  def initialize(values) = @values = values
end

def form(fields)
  Class.new(Form) do # LEAK KEEPER
    fields.each { |field| define_method(field) { @values[field] } } # LEAK
  end
end

FIELDS = %i[name street city zip country phone].freeze
Load.run(60) { |n| form(FIELDS).new({ name: "customer #{n}" }).name } # LEAK (the class's call caches)
