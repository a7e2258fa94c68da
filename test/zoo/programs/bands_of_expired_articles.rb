# Large: a news service wants to know whether an article repeats another one. It cuts the text into groups of three
# words, takes the smallest checksums of them, and files the article's features under four pairs of these, its bands.
# Articles that share a band are compared. An article expires after twelve seconds: its features are removed from the
# table of articles, and stay in the lists of their bands. The archive of earlier years is in memory from the start.
#
# kind: leak
# keeper: @bands, INDEX, NearDuplicates
# starts: 12
# rate: 2950000
require_relative "../load"
require "zlib"

class NearDuplicates
  Features = Struct.new(:number, :title, :groups, :at)
  LIFE = 12
  BANDS = 4

  attr_reader :repeated

  def initialize
    @articles = {} # the oldest first
    @bands = {}
    @repeated = 0
  end

  def add(number, title, text)
    words = text.downcase.scan(/\w+/)
    groups = words.each_cons(3).map { |group| group.join(" ") } # LEAK
    features = Features.new(number, title, groups, Load.seconds) # LEAK
    file(features)
    @articles[number] = features
    expire
  end

  private

  def file(features)
    smallest = features.groups.map { |group| Zlib.crc32(group) }.min(BANDS * 2)
    smallest.each_slice(2).with_index do |pair, place|
      band = (@bands[[place, *pair]] ||= []) # LEAK KEEPER
      @repeated += 1 if band.any? { |other| (other.groups & features.groups).size > features.groups.size * 0.8 }
      band << features # LEAK KEEPER
    end
  end

  def expire
    @articles.shift while @articles.any? && @articles.first.last.at < Load.seconds - LIFE
  end
end

ARCHIVE = Array.new(25_000) do |i|
  paragraphs = Array.new(18) { |k| "#{k}: #{"the council of the town #{i % 800} has voted on the bridge number #{i * k % 611}. " * 7}" }
  { year: 1990 + (i % 34), title: "article #{i} of the archive", paragraphs: }
end

SYLLABLES = %w[ba ne ro ti lu sam kor vel din mo ra za pir tun gol wex hy].freeze
WORDS = Array.new(9_000) { |i| Array.new(3) { |k| SYLLABLES[(i / (16**k)) % SYLLABLES.size] }.join + (i % 97).to_s }
INDEX = NearDuplicates.new

# An article of 120 words. One of 40 is sent again by another agency.
def text(number)
  random = Random.new(number % 40 == 0 ? number - 1 : number)
  "agency #{number % 7} #{Array.new(120) { WORDS[random.rand(WORDS.size)] }.join(" ")}"
end

Load.run(290) { |n| INDEX.add(n, "#{ARCHIVE[n % ARCHIVE.size][:title]}, followed up #{n}", text(n)) } # LEAK
