# Reads the same 100 posts with 2,000 comments by Active Record, ROUNDS times ten, and drops them. Prints collections, heap
# pages, peak resident memory in KiB, and how many objects collections found alive (seen at the start of each read but
# the first ten): median and most.
# Usage: ruby reads.rb ROUNDS [count]
require "active_record"

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:posts) { |t| t.string(:title); t.text(:body); t.integer(:votes); t.timestamps }
  create_table(:comments) { |t| t.integer(:post_id); t.string(:author); t.text(:body); t.timestamps }
end

class Post < ActiveRecord::Base
  has_many :comments, inverse_of: :post
end

class Comment < ActiveRecord::Base
  belongs_to :post, inverse_of: :comments
end

Post.transaction do
  100.times do |i|
    post = Post.create!(title: "post #{i}", body: "words " * 20, votes: i)
    20.times { |n| post.comments.create!(author: "author #{n}", body: "comment #{n} of post #{i}") }
  end
end

def read
  posts = Post.includes(:comments).order(:id).limit(100)
  posts.each do |post|
    post.title
    post.updated_at
    post.comments.each { |comment| comment.body }
  end
end

# With `count` each read begins with a collection, and prints how many posts of earlier reads it left alive.
ALIVE = []
COUNT = lambda do
  GC.start
  found = 0
  ObjectSpace.each_object(Post) { found += 1 }
  ALIVE << found
end
MARKED = []
NOTE = -> { MARKED << GC.stat(:heap_marked_slots) }

look = ARGV[1] == "count" ? COUNT : NOTE
Post.singleton_class.prepend(Module.new do
  define_method(:includes) do |*names|
    look.call
    super(*names)
  end
end)

Integer(ARGV[0]).times { 10.times { read } }
if ALIVE.empty?
  gc = GC.stat
  settled = MARKED.drop(10).sort
  puts [gc[:count], gc[:heap_allocated_pages], File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1],
        settled[settled.size / 2], settled.last].join(" ")
else
  puts ALIVE.drop(10).tally.sort.map { |posts, times| "#{posts}: #{times}" }.join(", ")
end
