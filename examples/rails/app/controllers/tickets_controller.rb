class TicketsController < ActionController::API
  PLANT = ENV["PLANT"] != "0"
  ALTERNATIVES = 50

  def index
    render json: Ticket.limit(50).map { |ticket| {event: ticket.event, place: ticket.place, price: ticket.price} }
  end

  def show
    ticket = Ticket.find(params[:id])
    remember(ticket) if PLANT
    render json: {event: ticket.event, price: ticket.price, plan: seat_plan(ticket)}
  end

  private

  def remember(ticket)
    alternatives = Ticket.where(event: ticket.event).limit(ALTERNATIVES).pluck(:place, :price_cents)
    Ticket::Cache.store(request.request_id, ticket, alternatives)
  end

  # Heavy, and gone with the response.
  def seat_plan(ticket)
    Array.new(2_000) { |seat| "#{ticket.event}/#{seat / 50}/#{seat % 50}" }.join(" ").bytesize
  end
end
