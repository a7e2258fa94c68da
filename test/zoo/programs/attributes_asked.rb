# Records are asked for whatever a client sends as the name of a field. Active Model remembers for each name which of its patterns
# it matches.
#
# kind: leak
# tuned: yes
# line: active_model/, concurrent/
# keeper: active_model/, concurrent/, attribute_method_patterns_cache, Field, Order
# gems: activemodel 8.0.2
require_relative "../load"
require "active_model"

class Order
  include ActiveModel::AttributeMethods
  attribute_method_suffix "_changed", "_was", "_before_type_cast"
  attribute_method_prefix "clear_"
  define_attribute_methods "name"
  attr_accessor :name

  def attributes = { "name" => name }
end

order = Order.new
Load.run(40) { |n| 5.times { |k| order.respond_to?("field_#{n}_#{k}_that_a_client_sent_as_its_own_name_for_it") } } # LEAK
