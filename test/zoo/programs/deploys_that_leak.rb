# A server loads its code anew every second (a deploy, here). The old classes hang in the registry of plugins, with their
# methods' code and the tables in their constants.
#
# kind: leak
# tuned: yes
# line: shop.rb
# keeper: REGISTRY
require_relative "../load"

module Plugins
  REGISTRY = []
  def self.register(plugin) = REGISTRY << plugin # KEEPER
end

SOURCE = <<~RUBY.freeze
  class Shop
    PRICES = Array.new(1_500) { |i| ["article \#{i}", i * 1.5] }.to_h
    Plugins.register(self)
    #{Array.new(150) { |i| "def page_#{i}(name) = \"<h1>\#{name} #{i}</h1>\" + (1..10).map { |n| \"<li>\#{n}</li>\" }.join" }.join("\n  ")}
  end
RUBY

def deploy
  Object.send(:remove_const, :Shop) if Object.const_defined?(:Shop)
  eval(SOURCE, TOPLEVEL_BINDING, "shop.rb", 1) # LEAK
end

deploy
Load.run(50) do |n|
  deploy if n % 50 == 0 # LEAK
  Shop.new.page_7("customer #{n}")
end
