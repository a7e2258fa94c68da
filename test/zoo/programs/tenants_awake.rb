# Healthy: a server loads the settings and translations of a tenant when it is asked for one, and drops them after eight
# seconds without a request. The number of tenants that are awake goes up and down with the load, in 25 seconds.
#
# kind: steady
# also: bloat
# settles: 13
require_relative "../load"

Tenant = Struct.new(:id, :used, :translations)

class Tenants
  def initialize = @awake = {}

  def page(id, number)
    tenant = (@awake[id] ||= Tenant.new(id, 0, Array.new(800) { |i| ["key #{i}", "translation #{i} of tenant #{id}"] }.to_h))
    tenant.used = Load.seconds
    drop if number % 50 == 0
    Array.new(10) { |i| tenant.translations["key #{(number + i) % 800}"] }.join
  end

  private

  def drop = @awake.delete_if { |_, tenant| tenant.used < Load.seconds - 8 }
end

TENANTS = Tenants.new
AWAKE = ->(second) { 10 + (60 * (1 - Math.cos(second * 2 * Math::PI / 25))) }
Load.run(200) { |n| TENANTS.page((Load.seconds / 25).floor * 1000 + (n % AWAKE.call(Load.seconds).ceil), n) }
