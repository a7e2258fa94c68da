# What one would type at sheap's prompt: the classes of the retained objects that were allocated at a line, and a path
# from the root to one of them.
# Usage: ruby sheap.rb BEFORE AFTER LATER FILE:LINE
require "sheap"
before, after, later, line = ARGV
diff = Sheap::Diff.new(before, after, later)
objects = diff.retained.select { |object| object.location == line }
by_class = objects.group_by { |object| object.klass&.name || object.type_str }
puts "#{objects.size} objects: #{by_class.transform_values(&:size).sort_by { |_, n| -n }.first(5)}"
path = by_class.values.first(3).lazy.filter_map { |all| diff.after.find_path(all.first) }.first
puts path ? path.map { |object| object.inspect[0, 100] } : "no path"
