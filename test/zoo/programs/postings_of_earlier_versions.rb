# Large: a search server reads 44,000 documents at the start and indexes their words. When a document is changed, its words are indexed anew,
# under its new version; those of earlier versions are skipped by the search, but nothing takes them out of the index.
#
# kind: leak
# keeper: @postings, SEARCH
# starts: 8
# rate: 810000
require_relative "../load"

Document = Struct.new(:number, :version, :title, :parts)
Posting = Struct.new(:document, :version, :place)

class Search
  attr_reader :documents

  def initialize
    @documents = []
    @postings = Hash.new { |postings, word| postings[word] = [] }
  end

  def write(number, parts, words)
    document = (@documents[number] ||= Document.new(number, 0, "document #{number}", nil))
    document.version += 1
    document.parts = parts
    words.each_with_index { |word, place| @postings[word] << Posting.new(document, document.version, place) } # LEAK KEEPER
  end

  def find(word) = @postings[word].last(400).select { |posting| posting.version == posting.document.version }.first(20).map(&:document)
end

WORDS = Array.new(12_000) { |i| "word#{i}".freeze }
RANDOM = Random.new(5)
FILLER = "with all that one has to know of it, and how it came to be like that; " * 20
def words = Array.new(24) { WORDS[(RANDOM.rand**2 * 12_000).to_i] }
def parts(number) = Array.new(6) { |i| "part #{i} of document #{number}, and so on, ".ljust(1_150, FILLER) }

SEARCH = Search.new
44_000.times { |i| SEARCH.write(i, parts(i), words) }

Load.run(700) do |n|
  SEARCH.write(RANDOM.rand(44_000), parts(n), words) # LEAK
  3.times { SEARCH.find(WORDS[RANDOM.rand(12_000)]).map { |found| "<h2>#{found.title}</h2><p>#{found.parts.first[0, 90].gsub(/\d+/) { |digits| "<b>#{digits}</b>" }}</p>" }.join("\n") }
end
