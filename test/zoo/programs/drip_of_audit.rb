# A slow leak: each page that an administrator sees leaves a line in an audit that nothing reads or shortens, some 5 KB a
# second in all, below pages of 100 lines for the other visitors.
#
# kind: leak
# rate: 6300
# every: 10, 60
require_relative "../load"

class Audit
  def initialize = @seen = []
  def note(user, path) = @seen << { user: "admin #{user}", path: "#{path}?by=#{user}", fields: Array.new(6) { |i| "field #{i} of #{path}" } } # LEAK KEEPER
end

AUDIT = Audit.new
Load.run(120) do |n|
  AUDIT.note(n % 5, "/customers/#{n}") if n % 16 == 0 # LEAK
  Array.new(100) { |i| "<li>#{n} #{i}</li>" }.join
end
