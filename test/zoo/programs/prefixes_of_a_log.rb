# A service formats its log with a formatter that remembers the prefixes of each program name, since they are costly
# to make. Since the last release the name has the number of the request in it, so each request adds prefixes that are
# used a few times and never again.
#
# kind: leak
# keeper: @prefixes, LOG, PrefixedFormatter, Logger
# rate: 570000
require_relative "../load"
require "logger"

class PrefixedFormatter < Logger::Formatter
  COLOURS = [31, 32, 33, 34, 35, 36].freeze

  def initialize
    super
    @prefixes = {}
  end

  def call(severity, time, name, message)
    prefixes = @prefixes[name] ||= prefixes_of(name) # LEAK KEEPER
    "#{prefixes[severity]} #{time.strftime("%H:%M:%S.%L")} #{message}\n"
  end

  private

  # A prefix for each severity.
  def prefixes_of(name)
    parts = name.split("/").map { |part| "\e[#{COLOURS[part.sum % COLOURS.size]}m#{part.ljust(24)[0, 24]}\e[0m" }
    %w[DEBUG INFO WARN ERROR FATAL ANY].to_h { |severity| [severity, "#{parts.join(" > ")} | #{severity.ljust(5)} |"] } # LEAK
  end
end

LOG = Logger.new(File.open(File::NULL, "w"), formatter: PrefixedFormatter.new)

def answer(number)
  rows = Array.new(40) { |i| { id: number + i, name: "row #{i} of #{number}", total: number * i % 977 } }
  rows.sort_by { |row| row[:total] }.map { |row| row.map { |key, value| "#{key}=#{value}" }.join("&") }.join("\n")
end

Load.run(250) do |n|
  name = "orders/#{%w[list show edit search][n % 4]}/worker #{n % 5}/request #{n.to_s.rjust(9, "0")}-#{(n * 7_919 % 99_991).to_s(16)}" # LEAK
  LOG.info(name) { "started" } # LEAK
  text = answer(n)
  LOG.info(name) { "#{text.size} bytes" }
  LOG.warn(name) { "slow" } if n % 40 == 0
end
