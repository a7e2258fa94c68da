# A server loads its code anew every second and drops the old classes, which are collected.
#
# kind: steady
# tuned: yes
require_relative "../load"

SOURCE = <<~RUBY.freeze
  class Shop
    PRICES = Array.new(1_500) { |i| ["article \#{i}", i * 1.5] }.to_h
    #{Array.new(150) { |i| "def page_#{i}(name) = \"<h1>\#{name} #{i}</h1>\" + (1..10).map { |n| \"<li>\#{n}</li>\" }.join" }.join("\n  ")}
  end
RUBY

def deploy
  Object.send(:remove_const, :Shop) if Object.const_defined?(:Shop)
  eval(SOURCE, TOPLEVEL_BINDING, "shop.rb", 1)
end

deploy
Load.run(50) do |n|
  deploy if n % 50 == 0
  Shop.new.page_7("customer #{n}")
  Array.new(100) { |i| "<li>#{n} #{i}</li>" }.join
end
