# Healthy: a language server parses files with Prism and keeps the tree of each of 120 files. A file that is edited is parsed
# anew, with a method more, up to 60 methods, and then starts again with one.
#
# kind: steady
# also: bloat
# settles: 7
require_relative "../load"
require "prism"

TREES = {}
EDITS = Hash.new(0)

def source(file, edits) = (0..(edits % 60)).map { |i| "def method_#{i}(a, b) = a.map { |x| x + b * #{file} }.select { |y| y > #{i} }\n" }.join

Load.run(50) do |n|
  file = n * 7919 % 120
  TREES[file] = Prism.parse(source(file, (EDITS[file] += 1) + file)).value
end
