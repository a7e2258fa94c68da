# A logger writes into a StringIO so that the last lines can be shown on a page of status. Nobody ever shortens it.
# rate: 130000
# kind: leak
# tuned: yes
# also: native
# line: logger/, logger.rb
# keeper: logger/log_device.rb, LOG, OUT, StringIO
require_relative "../load"
require "logger"
require "stringio"

OUT = StringIO.new
LOG = Logger.new(OUT)

def request(number)
  LOG.info("GET /orders/#{number} 200 #{number % 83}ms params=#{{ id: number, locale: "en", page: number % 7 }} ip=10.0.0.#{number % 255}") # LEAK KEEPER
  Array.new(50) { |i| "<li>#{number} #{i}</li>" }.join
end

Load.run(900) { |n| request(n) }
