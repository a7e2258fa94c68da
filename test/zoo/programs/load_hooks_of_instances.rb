# An importer lets plugins hook in with ActiveSupport.run_load_hooks, but calls it for each instance and not once for the class. Active
# Support keeps each base that it ever ran hooks for, in case a hook is added later: so no importer goes, and each has its rows.
#
# kind: leak
# tuned: yes
# line: active_support/lazy_load_hooks.rb
# keeper: active_support/lazy_load_hooks.rb, @loaded, ActiveSupport
# gems: activesupport 8.0.2
require_relative "../load"
require "active_support"

class Importer
  attr_reader :total

  def initialize(number)
    @rows = Array.new(60) { |i| "#{number};article #{i};#{i * 3}" } # LEAK
    ActiveSupport.run_load_hooks(:importer, self) # KEEPER
  end

  def run = @total = @rows.sum { |row| row.split(";").last.to_i }
end

ActiveSupport.on_load(:importer) { @rows.uniq! }

Load.run(40) { |n| Importer.new(n).run } # LEAK
