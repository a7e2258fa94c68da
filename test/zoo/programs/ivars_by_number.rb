# A report object that lives as long as the process memoizes by hand, in an instance variable for each customer. It is set by its
# name, which has the customer's number in it: the object gets wider and wider.
#
# kind: leak
# tuned: yes
# keeper: REPORT, Report, @total_
require_relative "../load"

class Report
  def totals(customer)
    name = :"@total_#{customer}" # LEAK
    instance_variable_get(name) || instance_variable_set(name, sums(customer)) # LEAK KEEPER
  end

  private

  def sums(customer) = Array.new(12) { |month| { month: month, text: "month #{month} of customer #{customer}" } } # LEAK
end

REPORT = Report.new

Load.run(60) do |n|
  REPORT.totals(n) # LEAK
  REPORT.totals(1 + (n / 2)).size
end
