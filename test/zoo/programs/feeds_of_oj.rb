# Healthy: feeds are parsed by oj, 25 a second; the last feed of each of 400 sources is kept. The sources come in turn, and their
# feeds get a little longer or shorter each time.
#
# kind: steady
# also: bloat
# settles: 16
# gems: oj 3.17.8
require_relative "../load"
require "oj"

FEEDS = {}
TEXTS = Array.new(40) { |k| Oj.dump({ "title" => "feed #{k}", "entries" => Array.new(30 + k) { |i| { "id" => i, "title" => "entry #{i} of #{k}", "tags" => ["a", "b", k.to_s] } } }) }
Load.run(25) { |n| FEEDS[n % 400] = Oj.load(TEXTS[n * 7 % 40]) }
