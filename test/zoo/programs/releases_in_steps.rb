# Healthy: every eleven seconds a release is deployed: its code is evaluated in a module of its own, with a table of routes.
# The last three releases are kept for rollbacks, so that memory goes up in three steps and then stays.
#
# kind: steady
# also: bloat
# settles: 34
require_relative "../load"

CODE = Array.new(200) { |i| "  def self.page_#{i}(name) = [name, #{i}, :page_#{i}, \"title #{i}\"].join(\"-\")" }.join("\n")
RELEASES = []

def deploy(number)
  release = Module.new
  release.module_eval("ROUTES = (0..2_000).to_h { |i| [\"/release-#{number}/page/\#{i}\", \"page \#{i}\"] }\n#{CODE}", "release.rb", 1)
  RELEASES << release
  RELEASES.shift if RELEASES.size > 3
end

deployed = 0
Load.run(150) do |n|
  deploy(deployed += 1) if Load.seconds >= deployed * 11
  RELEASES.last.public_send(:"page_#{n % 200}", "visitor #{n}") * 10
end
