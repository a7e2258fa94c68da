# Large: a database reads pages of its file into memory. A query pins a page while it reads it, so that the page is
# not dropped in the meantime: pinned pages are in a table of their own. After the query the page is one of the last
# 4,000 that are at hand. When a query fails at a row that cannot be read, it leaves its page pinned.
#
# kind: leak
# starts: 4
# rate: 2300000
require_relative "../load"

class Page
  attr_reader :number, :rows
  attr_accessor :pins

  def initialize(number, rows)
    @number = number
    @rows = rows
    @pins = 0
  end
end

# Each page has eighty rows, about 60 KB. A column of some pages was written by an older release.
class DataFile
  PAGES = 1_000_000

  def read(number)
    rows = Array.new(80) { |i| "#{(number * 80) + i}|row #{i} of page #{number}|#{"a table of oak with four legs, not painted; " * 15}|#{price(number, i)}" } # LEAK
    Page.new(number, rows) # LEAK
  end

  private

  def price(number, row) = number % 5 > 2 && row == 71 ? "n/a" : number * row % 90_000
end

class Pool
  LIMIT = 4_000

  def initialize(file)
    @file = file
    @unused = {}
    @pinned = {}
  end

  def size = @unused.size + @pinned.size

  def pin(number)
    page = @pinned[number] || @unused.delete(number) || @file.read(number) # LEAK
    @pinned[number] = page # LEAK KEEPER
    page.pins += 1
    page
  end

  # The page that was used last is at the end.
  def unpin(page)
    page.pins -= 1
    return unless page.pins.zero?

    @pinned.delete(page.number)
    @unused[page.number] = page
    @unused.shift if @unused.size > LIMIT
  end
end

class Query
  def initialize(pool) = @pool = pool

  def sum(number)
    page = @pool.pin(number) # LEAK
    total = page.rows.sum { |row| Integer(row[(row.rindex("|") + 1)..]) }
    @pool.unpin(page)
    total
  end
end

POOL = Pool.new(DataFile.new)
(0...Pool::LIMIT).each { |number| POOL.unpin(POOL.pin(DataFile::PAGES + number)) }
query = Query.new(POOL)
failures = 0

# Two of three queries read a page that was read lately.
Load.run(300) do |n|
  query.sum(n % 3 == 0 ? n : [n - (n * 31 % 600), 0].max / 3 * 3) # LEAK
rescue ArgumentError
  failures += 1
end
