# A monitor checks hosts in its main loop. The loop appends each alert to a local variable, for a summary that is never printed.
#
# kind: leak
# keeper: alerts, HostMonitor#watch
# rate: 350000
require_relative "../load"

Alert = Struct.new(:host, :value, :details)

class HostMonitor
  def initialize(hosts) = @hosts = hosts

  def watch
    alerts = []
    Load.run(40) do |n|
      values = check(@hosts[n % @hosts.size], n)
      next if values.max <= 10

      alert = Alert.new("host-#{n % @hosts.size}", values.max, values.map { |value| "load #{value} at check #{n}" }) # LEAK
      alerts << alert # LEAK KEEPER
    end
    puts alerts.size
  end

  def check(host, number)
    text = Array.new(200) { |i| "#{host} cpu#{i} #{(number * (i + 1)) % 17}" }.join("\n")
    text.lines.map { |line| line.split.last.to_i }.first(100)
  end
end

HostMonitor.new(Array.new(30) { |i| "host-#{i}" }).watch
