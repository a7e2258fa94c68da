# Healthy: a search index is built from documents in the first part of the run: a Hash from a word to numbers of documents.
# Its table and its arrays double in steps. After that, only searches come.
#
# kind: steady
# also: bloat
# settles: 30
require_relative "../load"

class Index
  def initialize = @postings = Hash.new { |postings, word| postings[word] = [] }
  def add(number, words) = words.each { |word| @postings[word] << number }
  def search(*words) = words.map { |word| @postings.fetch(word, []) }.inject(:&).first(10)
end

INDEX = Index.new
RANDOM = Random.new(9)
def word = "word-#{(RANDOM.rand**3 * 40_000).to_i}"

Load.run(150, seconds: 26) { |n| INDEX.add(n, Array.new(60) { word }) }
Load.run(250) { |n| INDEX.search(word, word).map { |number| "<li>document #{number}, hit of search #{n}</li>" }.join }
