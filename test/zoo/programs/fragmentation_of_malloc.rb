# Documents of many sizes are loaded, and one in sixteen stays, every few seconds, in place of those before: malloc's runs
# are held by few blocks each.
#
# kind: fragmentation
# tuned: yes
# also: bloat, steady
require_relative "../load"

RANDOM = Random.new(11)
def documents = Array.new(20_000) { "d" * (700 + RANDOM.rand(2_500)) }

kept = []
loaded = 0
Load.run(60) do |n|
  if Load.seconds > 4 + loaded * 9
    kept = documents.select.with_index { |_, i| i % 16 == 0 }
    loaded += 1
  end
  Array.new(50) { |i| "<li>#{n} #{i}</li>" }.join
end
