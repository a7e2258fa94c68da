# A report memoizes its result in a class variable whose name it makes from the report's number. The names are few in a test,
# and without an end in production.
#
# kind: leak
# keeper: class Report, Report, @@result
# rate: 180000
require_relative "../load"

class Report
  def self.result(number)
    name = :"@@result_#{number}"
    return class_variable_get(name) if class_variable_defined?(name)

    class_variable_set(name, Array.new(25) { |i| "row #{i} of report #{number}" }) # LEAK KEEPER
  end
end

Load.run(70) do |n|
  Report.result(n) # LEAK
  Report.result([n - 3, 1].max)
end
