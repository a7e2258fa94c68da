# A pricing service registers what computes the prices of a tenant in a container of dry-core, under the tenant and the number of his price
# list. It makes them on first use and memoizes them. A tenant sends a new price list every few seconds, and the old ones stay.
#
# kind: leak
# line: dry/core
# keeper: SERVICES, @_container, dry/core
# gems: dry-core 1.2.0, concurrent-ruby 1.3.8
# rate: 410000
require_relative "../load"
require "dry/core"
require "json"

SERVICES = Dry::Core::Container.new

class Prices
  def initialize(list)
    @steps = JSON.parse(list).to_h { |step| [step["from"], step] } # LEAK
    @froms = @steps.keys.sort
  end

  def of(amount)
    step = @steps[@froms.reverse_each.find { |from| from <= amount } || @froms.first]
    (amount * step["cents"] * (100 - step["discount"]) / 100.0).round(2)
  end
end

class Tenant
  def initialize(name)
    @name = name
    @release = 0
  end

  def receive(list)
    @release += 1
    SERVICES.register("prices.#{@name}.#{@release}", memoize: true) { Prices.new(list) } # LEAK KEEPER
  end

  def prices = SERVICES.resolve("prices.#{@name}.#{@release}") # LEAK
end

def list(number) = JSON.generate(Array.new(40) { |i| { from: i * 10, cents: 100 + (number * i % 90), discount: i % 20, name: "step #{i} of list #{number}", until: nil } })

TENANTS = Array.new(60) { |i| Tenant.new("tenant#{i}").tap { |tenant| tenant.receive(list(i)) } }

Load.run(300) do |n|
  tenant = TENANTS[n % 60]
  tenant.receive(list(n)) if n % 11 == 0
  Array.new(70) { |i| "#{i} pieces for tenant #{n % 60}: #{tenant.prices.of((i * n) % 450)}" }.join("\n") # LEAK
end
