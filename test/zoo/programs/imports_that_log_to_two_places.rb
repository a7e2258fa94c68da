# A shop imports the files of its suppliers. While an import runs, the log goes to a text as well, which is shown
# beside the import on a page. For this a second logger is added to the logger of the application (BroadcastLogger of
# Active Support). After the import this second logger is closed for all messages by its level, but it is not removed.
#
# kind: leak
# line: logger
# keeper: @broadcasts, LOGGER, active_support/broadcast_logger
# gems: activesupport 7.2.2.1
# rate: 400000
require_relative "../load"
require "logger"
require "stringio"
require "active_support"
require "active_support/logger"
require "active_support/broadcast_logger"

LOGGER = ActiveSupport::BroadcastLogger.new(ActiveSupport::Logger.new(File::NULL))

class Import
  attr_reader :text

  def initialize(number)
    @number = number
    @text = StringIO.new
  end

  def run(rows)
    log = ActiveSupport::Logger.new(@text) # LEAK
    LOGGER.broadcast_to(log) # LEAK KEEPER
    rows.each { |row| import(row) } # LEAK
    log.level = ::Logger::UNKNOWN
  end

  private

  def import(row)
    without = row[:prices].reject { |_, price| Integer(price, exception: false) }
    LOGGER.error("Import #{@number}: no price in #{without.keys.join(" and ")} of article #{row[:article]}") if without.any? # LEAK
    prices = (row[:prices].keys - without.keys).map { |size| "#{size}: #{row[:prices][size]} cents (#{row[:pieces]} pieces are in store)" }
    LOGGER.info("Import #{@number}: article #{row[:article]} of supplier #{@number % 70} was read. #{prices.join(", ")}") # LEAK
  end
end

def rows(number)
  Array.new(60) do |i|
    prices = Array.new(30) { |k| ["size #{k + 30}", i * k % 97 == 7 ? "on request" : (number * (i + k) % 90_000).to_s] }.to_h
    { article: (number * 60) + i, prices: prices, pieces: i * 31 % 977 }
  end
end

# The page shows the end of the text of the newest imports.
shown = []
Load.run(4) do |n|
  import = Import.new(n)
  import.run(rows(n)) # LEAK
  shown.push(import.text.string[-400..])
  shown.shift if shown.size > 10
end
