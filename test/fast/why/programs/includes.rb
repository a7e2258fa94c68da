# frozen_string_literal: true

# Pages that a constant keeps, each with an author and, since somebody wrote `includes`, all books of the author.
require_relative "../../../../examples/includes/library"
require "heapsample/sample_profile"

class Page
  def initialize(id) = @author = Author.includes(:books).find(id)
end

# Many pages: the machine stack may still refer to the last author.
PAGES = Array.new(12) { Page.new(fill(books: 500)) }
GC.start
GC.sample_profile(why: true).save(ARGV.fetch(0))
