# A worker gives each job a log of its own in a StringIO, to show beside the job: the application's broadcast logger is told to write
# there too. Nobody tells it to stop after the job, so that all later messages go to all the old logs. The mended program does.
#
# kind: leak
# tuned: yes
# also: native
# line: logger.rb, logger/, active_support/
# keeper: active_support/broadcast_logger.rb, @broadcasts, LOG, StringIO, logger/log_device.rb
# gems: activesupport 8.0.2
# mended: activesupport 8.0.2
require_relative "../load"
require "logger"
require "stringio"
require "active_support"
require "active_support/broadcast_logger"

LOG = ActiveSupport::BroadcastLogger.new(Logger.new(File::NULL))

def job(number)
  own = Logger.new(StringIO.new) # LEAK
  LOG.broadcast_to(own) # KEEPER
  8.times { |i| LOG.info("job #{number}: #{i * 12} percent of the parcels are sent") } # LEAK
ensure
  LOG.stop_broadcasting_to(own) if ENV["ZOO_MENDED"] == "1"
end

Load.run(3) { |n| job(n) }
