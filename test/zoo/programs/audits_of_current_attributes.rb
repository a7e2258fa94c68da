# A help desk lets its staff work in the place of a customer. Such a request writes an audit entry when the current
# attributes are reset at its end (CurrentAttributes of Active Support). The request passes a block to resets for this,
# as if it were good for one request. It is a callback of the class: it runs after each request from then on.
#
# kind: leak
# line: active_support/callbacks, active_support/current_attributes
# keeper: __callbacks, @chain, Current, active_support/callbacks
# gems: activesupport 7.2.2.1
# rate: 440000
require_relative "../load"
require "json"
require "active_support"
require "active_support/current_attributes"

class Current < ActiveSupport::CurrentAttributes
  attribute :user, :customer, :request
end

Request = Struct.new(:number, :path, :headers, :form)

class Desk
  attr_reader :entries

  def initialize = @entries = 0

  def handle(request)
    Current.user = "user #{request.number % 90}"
    Current.request = request
    work_for_customer(request) if request.headers["x-customer"]
    answer(request)
  ensure
    Current.reset
  end

  def audit(request)
    @entries += JSON.generate(path: request.path, form: request.form).bytesize
  end

  private

  def work_for_customer(request)
    Current.customer = request.headers["x-customer"]
    desk = self
    written = false
    Current.resets do # LEAK KEEPER
      desk.audit(request) unless written
      written = true
    end
  end

  def answer(request) = "<p>#{request.path}: #{request.form.keys.map(&:upcase).join(", ")}</p>"
end

# Every twelfth request is in the place of a customer.
def request(number)
  form = Array.new(46) { |i| ["field-#{i}", "What the staff wrote into field #{i} of ticket #{number}: #{"the machine does not start in the morning. " * 24}"] }.to_h # LEAK
  headers = { "accept" => "text/html", "user-agent" => "Desk/#{number % 7}", "cookie" => "session=#{number * 2_654_435_761 % 4_294_967_296}" } # LEAK
  headers["x-customer"] = "customer #{number * 31 % 9_000}" if number % 12 == 0
  Request.new(number, "/tickets/#{number}", headers, form) # LEAK
end

DESK = Desk.new

Load.run(100) { |n| DESK.handle(request(n)) } # LEAK
