# A form builder makes a class with validations for each form that is sent, as its fields are in the database, uses it once and drops
# it. Each is a class without a constant, and goes when its form is answered.
#
# kind: steady
# tuned: yes
# gems: activemodel 8.0.2
require_relative "../load"
require "active_model"

def form(fields)
  Class.new do
    include ActiveModel::Validations
    define_singleton_method(:model_name) { ActiveModel::Name.new(self, nil, "Form") }
    attr_accessor(*fields)

    validates(*fields, presence: true)
  end
end

Load.run(10) do |n|
  fields = %i[name street town].take(1 + (n % 3))
  answer = form(fields).new
  answer.name = "visitor #{n}"
  answer.valid? || answer.errors.full_messages.join
end
