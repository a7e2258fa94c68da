# A service sorts releases by Gem::Version. Rubygems keeps each version that it ever made in a table, and the visitors' texts
# have a time stamp in them.
#
# kind: leak
# tuned: yes
# line: rubygems/version.rb
# keeper: rubygems/version.rb, @@all, @@release
require_relative "../load"

def newest(builds) = builds.map { |build| Gem::Version.new(build) }.max # LEAK KEEPER

Load.run(80) { |n| newest(Array.new(12) { |i| "#{i}.#{n % 9}.0.beta.#{n}" }).release }
