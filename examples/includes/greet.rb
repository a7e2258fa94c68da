# frozen_string_literal: true

# Pages that greet an author by name, and what each keeps in memory to do so.
require_relative "library"

class Page
  def initialize(author_id)
    @author = find(author_id)
  end

  def to_s
    "Welcome back, #{@author.name}."
  end

  private

  # The books were on the page once.  They are no longer, and are loaded all the same.
  def find(author_id)
    Author.includes(:books).find(author_id)
  end
end

pages = Array.new(5) { Page.new(fill(books: 4000)) }
GC.start
puts pages.first
