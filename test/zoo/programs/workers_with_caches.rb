# Healthy: three forked workers serve the same pages, each with its own LRU cache of 1,500 pages. They fill at different
# speeds, since the first worker gets half of the requests: the slowest is full after two fifths of the run.
#
# kind: steady
# also: bloat
# settles: 37%
# every: 10
require_relative "../load"
require_relative "../workers"

class Pages
  def initialize = @pages = {}

  def get(number)
    page = @pages.delete(number) || Array.new(30) { |i| "<li>#{i} of page #{number}</li>" }
    @pages[number] = page
    @pages.shift if @pages.size > 1_500
    page.join
  end
end

PAGES = Pages.new
Workers.run(3) do |index|
  random = Random.new(index)
  Load.run([4_500, 3_000, 2_000][index] * 2.2 / Load::SECONDS) { PAGES.get(random.rand(100_000)) }
end
