# Active Record on sqlite3 in memory: makes posts and comments, reads them with includes, changes some.
# Usage: ruby activerecord.rb ROUNDS
require "active_record"

rounds = Integer(ARGV[0])
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:posts) do |t|
    t.string :title, null: false
    t.text :body
    t.integer :votes, null: false, default: 0
    t.timestamps
  end
  create_table(:comments) do |t|
    t.references :post, null: false
    t.string :author
    t.text :body
    t.timestamps
  end
end

class Post < ActiveRecord::Base
  has_many :comments, dependent: :destroy
  validates :title, presence: true, length: { maximum: 200 }
  scope :popular, -> { where(votes: 3..).order(votes: :desc, id: :asc) }
end

class Comment < ActiveRecord::Base
  belongs_to :post
  validates :author, presence: true
end

TITLES = Array.new(100) { |i| "post #{i}" }
COMMENTS = Array.new(100) { |i| Array.new(12) { |n| ["author #{n}", "a comment of post #{i}, number #{n}"] } }

TITLES.each_with_index do |title, i|
  post = Post.create!(title:, body: "words " * 30, votes: i % 7)
  COMMENTS[i].each { |author, body| post.comments.create!(author:, body:) }
end

characters = 0
rounds.times do |round|
  Post.includes(:comments).order(:id).each do |post|
    characters += post.title.size + post.comments.sum { |comment| comment.body.size + comment.author.size }
    raise "post #{post.id} changed before it was made" if post.updated_at < post.created_at
  end
  Post.popular.limit(10).each { |post| post.update!(body: "changed in round #{round}") }
  Post.transaction do
    extra = Post.create!(title: "extra #{round}", votes: round % 5)
    extra.comments.create!(author: "somebody", body: "gone soon")
    extra.destroy!
  end
end

raise "#{Post.count} posts, #{Comment.count} comments" unless [Post.count, Comment.count] == [100, 1200]
raise "votes #{Post.sum(:votes)}" unless Post.sum(:votes) == TITLES.each_index.sum { |i| i % 7 }
expected = (TITLES + COMMENTS.flatten).sum(&:size)
raise "#{characters} characters in #{rounds} rounds of #{expected}" unless characters == rounds * expected
