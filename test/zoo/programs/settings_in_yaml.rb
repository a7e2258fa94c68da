# Healthy: settings of 2,500 shops are read from YAML every four seconds, checked against the old ones and swapped. While they
# are swapped, both are alive.
#
# kind: steady
# settles: 5
require_relative "../load"
require "yaml"

TEXT = YAML.dump(Array.new(2_500) { |i| ["shop-#{i}", { "name" => "shop #{i}", "rates" => Array.new(3) { |k| i * 0.1 * k }, "tags" => ["tag #{i % 7}"] }] }.to_h)

class Settings
  def initialize = (@read, @shops = -9, {})

  def reload
    return if Load.seconds - @read < 4

    @read = Load.seconds
    shops = YAML.safe_load(TEXT)
    @changed = shops.count { |name, shop| @shops[name] != shop }
    @shops = shops
  end

  def shop(number) = @shops["shop-#{number % 2_500}"]
end

SETTINGS = Settings.new
Load.run(60) do |n|
  SETTINGS.reload
  SETTINGS.shop(n)["tags"].map { |tag| "<b>#{tag}</b>" }
end
