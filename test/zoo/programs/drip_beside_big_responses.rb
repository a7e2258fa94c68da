# A slow leak, 25 KB a second, next to 80 MB a second of responses that are built and dropped: a proxy notes each upstream
# error and never forgets one.
#
# kind: leak
# rate: 25000
require_relative "../load"

class Proxy
  BODY = ("a line of a response that is long and passes through " * 200).freeze

  def initialize = @errors = Hash.new { |errors, host| errors[host] = [] }

  def get(number)
    body = BODY * 15
    failed(number) if number % 5 == 0 # LEAK
    body.bytesize
  end

  private

  def failed(number) = @errors["host-#{number % 40}"] << { status: 502, at: Load.seconds, url: "https://example.org/items/#{number}?page=#{number % 7}" } # LEAK KEEPER
end

PROXY = Proxy.new
Load.run(500) { |n| PROXY.get(n) } # LEAK
