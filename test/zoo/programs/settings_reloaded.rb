# Healthy: a service reads its settings anew each second and drops the last ones, while a table of sessions is as large as the
# day's traffic lets it be and is swept.
#
# kind: steady
# tuned: yes
require_relative "../load"
require "json"
require "time"

TEXT = JSON.generate((1..3_000).to_h { |i| ["key#{i}", { value: "v" * (i % 60), since: Time.now.iso8601 }] })

class Service
  def initialize = (@sessions, @read, @settings = {}, 0, {})

  def request(number)
    reload if Load.seconds - @read > 1
    @sessions[number] = { user: "user #{number}", at: Load.seconds, seen: @settings.size }
    @sessions.delete_if { |_, session| Load.seconds - session[:at] > 8 } if number % 200 == 0
  end

  private

  def reload
    @settings = JSON.parse(TEXT, symbolize_names: true)
    @read = Load.seconds
  end
end

service = Service.new
Load.run(150) { |n| service.request(n) }
