# frozen_string_literal: true

# A lending library's records, in SQLite in memory: one author has thousands of books, each with a summary.
require "active_record"

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:authors) { |table| table.string :name }
  create_table(:books) do |table|
    table.references :author
    table.string :title
    table.text :summary
  end
end

class Author < ActiveRecord::Base
  has_many :books
end

class Book < ActiveRecord::Base
  belongs_to :author
end

def fill(books:)
  author = Author.create!(name: "Anon")
  books.times.each_slice(500) do |slice|
    Book.insert_all!(slice.map { |n| {author_id: author.id, title: "Volume #{n}", summary: "Of little use here. " * 20} })
  end
  author.id
end
