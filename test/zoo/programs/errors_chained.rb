# A poller raises the error of this try from the error of the last one. Through `cause` each keeps all before it, with their
# backtraces.
#
# kind: leak
# tuned: yes
# keeper: errors_chained.rb
require_relative "../load"

class Poller
  class Failed < StandardError; end

  def poll(number)
    connect(number)
  rescue Failed => error
    @last_error = error # KEEPER
  end

  private

  def connect(number)
    raise Failed, "try #{number} of #{"host" * 50}", cause: @last_error # LEAK
  end
end

poller = Poller.new
Load.run(80) { |n| poller.poll(n) }
