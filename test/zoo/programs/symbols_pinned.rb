# A mapper defines an accessor for each field of each document that it reads, and documents have keys of their own: each
# key leaves a symbol for ever, a method, and its code.
#
# kind: leak
# tuned: yes
# keeper: Document
require_relative "../load"
require "json"

class Document
  def initialize(text)
    JSON.parse(text).each do |key, value| # LEAK
      instance_variable_set(:"@#{key}", value) # LEAK
      self.class.class_eval("def #{key} = @#{key}") # LEAK KEEPER
    end
  end
end

Load.run(50) { |n| Document.new(JSON.generate({ "title" => "t", "field_#{n}_a" => 1, "field_#{n}_b" => 2, "field_#{n}_c" => 3 })) }
