# Large: a laboratory has a reference genome in memory, with an index of the places of its words of sixteen letters. The
# reads of a sample come in the order of their places and pile up in columns. A column is called and removed when a
# read begins behind it. Nothing begins behind the last columns of a contig, so these stay, with their reads.
#
# kind: leak
# keeper: @columns, PILEUP, Pileup
# starts: 6
# rate: 720000
require_relative "../load"

class Pileup
  Read = Struct.new(:name, :place, :letters, :qualities)
  WIDTH = 100

  def initialize
    @columns = Hash.new { |columns, contig| columns[contig] = {} } # KEEPER
    @calls = Hash.new(0)
  end

  # A read is in each column that it covers.
  def add(contig, read)
    first = read.place / WIDTH
    last = (read.place + read.letters.size) / WIDTH
    (first..last).each { |column| (@columns[contig][column] ||= []) << read } # LEAK KEEPER
    call_before(contig, first)
  end

  private

  def call_before(contig, first)
    columns = @columns[contig]
    columns.keys.select { |column| column < first }.each { |column| call(columns.delete(column)) }
  end

  def call(reads)
    @calls[reads.map { |read| read.letters[0, 4] }.tally.max_by(&:last).first] += 1
  end
end

def chromosome(number, size) = Random.new(number).bytes(size / 2).unpack1("H*").tr("0123456789abcdef", "ACGT" * 4)

CHROMOSOMES = Array.new(9) { |number| chromosome(number, 30_000_000) }
INDEX = CHROMOSOMES.each_with_index.each_with_object({}) do |(letters, number), index|
  (0..100_000).step(2) { |place| (index[letters[place, 16]] ||= []) << ((number << 32) | place) }
end
PILEUP = Pileup.new
LENGTH = 1_200
READS = 16 # of a contig

Load.run(480) do |n|
  contig, read = n.divmod(READS)
  place = read * 160
  text = CHROMOSOMES[contig % 9][(contig * 4_000 % 90_000) + place, LENGTH].tap { |letters| letters[n % LENGTH] = "N" } # LEAK
  places = (0..4).filter_map { |i| INDEX[text[i * 200, 16]] }
  qualities = Array.new(LENGTH / 40) { |i| (33 + (((i * 7) + n) % 40)).chr }.join * 40 # LEAK
  PILEUP.add(contig, Pileup::Read.new("read #{read} of contig #{contig}, found #{places.size} times", place, text, qualities)) # LEAK
end
