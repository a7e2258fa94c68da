# The last fifty documents that were parsed are kept, so that a second question is answered fast; older ones go.
#
# kind: steady
# tuned: yes
# also: bloat
# gems: nokogiri 1.19.3, lru_redux 1.1.0
require_relative "../load"
require "nokogiri"
require "lru_redux"

RECENT = LruRedux::Cache.new(50)
def document(id) = RECENT.getset(id) { Nokogiri::XML("<order id='#{id}'>#{"<item>thing</item>" * 80}</order>") }

Load.run(40) do |n|
  document(n)
  document(n - 7).css("item").size
end
