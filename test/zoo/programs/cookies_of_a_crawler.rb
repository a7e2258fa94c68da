# Healthy: a crawler has one jar of cookies (http-cookie) for all sites. The jar sorts out what is too many, 3,000 in all, now and
# then: it fills for some twenty seconds, and is full.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 22
# gems: http-cookie 1.0.8
require_relative "../load"
require "http-cookie"

JAR = HTTP::CookieJar.new

Load.run(150) do |n|
  site = "http://site-#{n % 700}.example.org/"
  JAR.parse("visit_#{n}=#{"#{n}-" * 12}; Max-Age=3600", site)
  JAR.cookies(site).size if (n % 30).zero? # it looks through the whole jar
end
