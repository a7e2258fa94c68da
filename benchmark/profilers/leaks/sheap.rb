# Usage: ruby sheap.rb BEFORE AFTER LATER FILE:LINE…: by how many references, and by which, the objects allocated there
# are retained: what one would type at sheap's prompt.
require "sheap"
before, after, later, *places = ARGV
diff = Sheap::Diff.new(before, after, later)
objects = diff.retained.select { |object| places.include?(object.location) }
puts "#{objects.size} objects: #{objects.map { |object| object.klass&.name || object.type_str }.tally.sort_by { |_, n| -n }.first(5)}"
path = objects.first && diff.after.find_path(objects.first)
puts path ? path.map { |object| object.inspect[0, 100] } : "no path"
