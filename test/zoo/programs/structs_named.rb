# Rows of a report get a Struct of the report's columns. It is made with a name, which is a constant below Struct, so that each stays.
#
# kind: leak
# tuned: yes
# keeper: Struct
require_relative "../load"

class Report
  def initialize(number, columns)
    @row = Struct.new("Report#{number}", *columns) # LEAK KEEPER
  end

  def rows(count) = Array.new(count) { |i| @row.new(i, "name #{i}", i * 3) }
end

Load.run(50) { |n| Report.new(n, %i[id name total]).rows(40).sum(&:total) } # LEAK
