# Healthy: each login has a session for nine seconds. The sessions are in order of their deadlines, and each login removes those that
# are over.
#
# kind: steady
# also: bloat
# settles: 14
require_relative "../load"

Session = Struct.new(:deadline, :user, :rights, :history)

class Logins
  def initialize = @sessions = {}

  def login(number)
    expire
    @sessions["token-#{number}"] = Session.new(Load.seconds + 9, "user #{number}", Array.new(28) { |i| "right #{i} of user #{number}" }, [])
  end

  def visit(number, page) = @sessions["token-#{number}"]&.history&.push("visited page #{page} as user #{number}, with the rights of that user")

  private

  def expire
    @sessions.shift while @sessions.any? && @sessions.first.last.deadline < Load.seconds
  end
end

LOGINS = Logins.new
Load.run(2200) do |n|
  n += 1_000_000 # as many digits at the end as at the start
  LOGINS.login(n)
  3.times { |i| LOGINS.visit(n - (i * 900), n) }
end
