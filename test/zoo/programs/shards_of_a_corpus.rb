# Healthy, large: a trainer of a model of language draws its batches from a corpus of 44 shards in memory. Every second and a half, a shard is read
# anew from the crawl and takes the place of the oldest one; a batch is cut into pairs of letters and counted, and is dropped.
#
# kind: steady
# also: bloat
# settles: 14
require_relative "../load"

class Shard
  WORDS = Array.new(4_000) { |i| (i * 7_919 + 11).to_s(26).tr("0-9", "q-z").freeze }

  attr_reader :sentences

  def initialize(number)
    @sentences = Array.new(17_000) { |i| "#{number}.#{i} #{WORDS[(number + i) * 31 % 3_900, 90].join(" ")}" }
  end
end

class Corpus
  def initialize(count)
    @shards = Array.new(count) { |i| Shard.new(i) }
    @read = count
  end

  # One shard a call, the oldest first.
  def refresh
    @shards[@read % @shards.size] = Shard.new(@read)
    @read += 1
  end

  def batch(size, random) = Array.new(size) { @shards.sample(random: random).sentences.sample(random: random) }
end

CORPUS = Corpus.new(44)
RANDOM = Random.new(3)

def counts(batch)
  batch.each_with_object(Hash.new(0)) do |sentence, pairs|
    sentence[0, 120].each_char.each_cons(2) { |pair| pairs[pair.join] += 1 }
  end
end

next_shard = Load.seconds + 1.5
Load.run(45) do
  counts(CORPUS.batch(110, RANDOM)).max_by(10, &:last)
  next if Load.seconds < next_shard

  next_shard += 1.5
  CORPUS.refresh
end
