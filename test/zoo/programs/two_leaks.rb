# Two leaks that have nothing to do with each other: a socket's list of subscriptions that is not cleared at disconnect, and
# a cache of prices by currency and moment.
#
# kind: leak
# rate: 80000
require_relative "../load"

class Channel
  def initialize = @subscriptions = {}
  def join(client) = @subscriptions[client] = Array.new(10) { |i| "room #{i} of #{client}" } # LEAK KEEPER
  def leave(client) = @subscriptions.delete(client.to_s.to_sym)
end

class Prices
  @at = {}
  def self.of(currency, moment) = @at[[currency, moment]] ||= { rate: moment, text: "one #{currency} at #{moment}, from #{"source, " * 20}" } # LEAK KEEPER
end

CHANNEL = Channel.new
Load.run(60) do |n|
  CHANNEL.join("client #{n}") # LEAK
  CHANNEL.leave("client #{n}")
  Prices.of("EUR", Load.seconds) if n.odd? # LEAK
end
