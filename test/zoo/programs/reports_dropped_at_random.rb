# Healthy and large: a data warehouse is loaded at the start. Rendered reports are in a cache of 3,500, which drops one at random for each that
# is new when it is full.
#
# kind: steady
# also: bloat
# settles: 15
require_relative "../load"

Sale = Struct.new(:shop, :article, :cents, :receipt, :labels)

SALES = Array.new(150_000) do |i|
  Sale.new("shop #{i % 600}", "article #{i * 31 % 20_000}", i % 9_000, "receipt #{i}: ".ljust(2_000, "1 x article, 19% tax; "),
           { week: i % 52, region: "region #{i % 16}", seller: "seller #{i % 900}" })
end

class Reports
  def initialize(limit)
    @limit = limit
    @keys = []
    @reports = {}
    @random = Random.new(7)
  end

  def fetch(key)
    @reports.fetch(key) do
      drop if @keys.size >= @limit
      @keys << key
      @reports[key] = yield
    end
  end

  private

  def drop
    index = @random.rand(@keys.size)
    @reports.delete(@keys[index])
    @keys[index] = @keys.last
    @keys.pop
  end
end

REPORTS = Reports.new(3_500)

def report(key)
  sales = SALES[key * 61 % 149_000, 130]
  rows = sales.group_by { |sale| sale.shop }.map do |shop, all|
    "<tr><td>#{shop}</td><td>#{all.sum { |sale| sale.cents } / 100.0}</td><td>#{all.first.article}, #{all.first.labels[:seller]}</td></tr>"
  end
  { title: "report #{key}", rows: rows, html: "<table>#{rows.join("\n")}</table>" }
end

RANDOM = Random.new(11)
Load.run(450) do |n|
  key = RANDOM.rand(3) == 0 ? RANDOM.rand(800) : n + 800
  REPORTS.fetch(key) { report(key) }[:rows].map { |row| row.gsub(/<[^>]+>/, ";") }.join("\n")
end
