# A service keeps one-time tokens in Moneta's memory for five seconds each. Moneta looks at a token's time only when
# somebody asks for it, and nobody asks for a token twice: what has expired stays for ever. The mended program sweeps.
#
# kind: leak
# tuned: yes
# line: moneta/, programs/expired_tokens.rb
# keeper: moneta/adapters/memory.rb, moneta/, @backend
# gems: moneta 1.6.0
# mended: moneta 1.6.0
# settles: 14
require_relative "../load"
require "moneta"

TOKENS = Moneta.new(:Memory, expires: 5)
SWEEPS = ENV["ZOO_MENDED"] == "1"

def login(number)
  TOKENS.store("token-#{number}", { user: "user #{number}", scopes: Array.new(8) { |i| "scope:#{number}:#{i}" } }) # LEAK KEEPER
  TOKENS.each_key.to_a.each { |key| TOKENS.load(key) } if SWEEPS && number % 500 == 0
end

Load.run(300) { |n| login(n) } # LEAK
