# Healthy: tokens of logins are valid for a fifth of the run. An expired token is dropped when it is asked for, or by a
# sweep every three seconds.
#
# kind: steady
# also: bloat
# settles: 43%
# every: 10, 60
require_relative "../load"

Token = Struct.new(:value, :user, :scopes, :expires)
TTL = Load::SECONDS / 5

class Tokens
  def initialize = (@tokens, @swept = {}, 0)

  def issue(user)
    sweep if Load.seconds - @swept > 3
    value = "#{user}-#{rand(1 << 60).to_s(36)}"
    @tokens[value] = Token.new(value, "user #{user}", Array.new(4) { |i| "scope-#{user}-#{i}" }, Load.seconds + TTL)
  end

  def check(value) = @tokens[value].then { |token| token && token.expires > Load.seconds ? token : @tokens.delete(value) && nil }

  private

  def sweep
    @swept = Load.seconds
    @tokens.delete_if { |_, token| token.expires < @swept }
  end
end

TOKENS = Tokens.new
Load.run(3_500 / TTL) do |n|
  token = TOKENS.issue(n)
  10.times { TOKENS.check(token.value) }
end
