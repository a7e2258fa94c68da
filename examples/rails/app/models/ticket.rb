class Ticket < ActiveRecord::Base
  def price = format("%.2f EUR", price_cents / 100.0)
end
