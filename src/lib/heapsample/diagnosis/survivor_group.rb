# frozen_string_literal: true

module HeapSample
  # What had survived of one line at each moment of Survivors.
  class SurvivorGroup
    # Parts of the judged time by which births are told apart.
    AGES = 10

    # A Place; of all together nil.
    attr_reader :key
    # Bytes at each moment, of slots and of malloc'd memory that is resident.
    attr_reader :spaces
    # Of what was born in the judged time and is there at its end: bytes by class, by stack, by library (nil of slots),
    # and by which tenth of the time it was born in.
    attr_reader :classes, :stacks, :libraries, :ages
    # Samples and objects of that.
    attr_reader :samples, :objects

    # Several of them as one, which has no key.
    def self.sum(groups, moments)
      groups.each_with_object(new(nil, moments)) { |group, sum| sum.merge(group) }
    end

    def initialize(key, moments)
      @key = key
      @spaces = [0.0] * moments
      @old = [0.0] * moments
      @variance = 0.0
      @samples_now = @samples = 0
      @objects = 0.0
      @classes, @stacks, @libraries = Array.new(3) { Hash.new(0.0) }
      @ages = [0.0] * AGES
    end

    # Adds what survives at a moment, a Births::Sum; +old+: did it survive at the moment before?
    def add(moment, sum, old:)
      @spaces[moment] += sum.space
      @old[moment] += sum.space if old
      return unless moment == @spaces.size - 1

      @variance += sum.variance
      @samples_now += sum.samples
    end

    # Notes what a row at the last moment is, and from when to when it was born, as shares of the judged time.
    def describe(row, profile, born)
      space = row[Columns::RESIDENT]
      @classes[profile.text(row[Columns::CLASS])] += space
      @stacks[row[Columns::STACK]] += space
      @libraries[row[Columns::MALLOC] ? profile.text(row[Columns::LIBRARY]) : nil] += space
      @samples += row[Columns::INUSE_SAMPLES]
      @objects += row[Columns::INUSE_OBJECTS]
      spread(space, *born)
    end

    def merge(other)
      other.spaces.each_with_index { |space, moment| @spaces[moment] += space }
      other.old.each_with_index { |space, moment| @old[moment] += space }
      other.ages.each_with_index { |space, age| @ages[age] += space }
      %i[classes stacks libraries].each { |name| public_send(name).merge!(other.public_send(name)) { |_, one, more| one + more } }
      @samples += other.samples
      @objects += other.objects
      @variance += other.variance
      @samples_now += other.samples_now
      self
    end

    # Bytes that came and bytes that went, together, up to each moment.
    def turnover
      sum = 0.0
      spaces.each_index.map { |moment| sum += moment.zero? ? 0.0 : spaces[moment - 1] + spaces[moment] - 2 * @old[moment] }
    end

    # Bytes by which it got less from moment +from+ on: its least at first less its most at the end, so that what rises and
    # falls has none.
    def decline(from)
      judged = spaces.drop(from)
      some = (judged.size / 3.0).ceil
      [judged.first(some).min - judged.last(some).max, 0.0].max
    end

    # Bytes that one sample stands for, about; 0 where all is sampled.
    def unit
      spaces.last > 0 ? [variance / spaces.last, spaces.last / [samples_now, 1].max].min : 0.0
    end

    # Bytes born in the judged time that are still there.
    def born = ages.sum

    # The part of #born that came in the first half of the judged time.
    def early = ages.first(AGES / 2).sum

    # The part of #born that came in the first tenths of it.
    def first(tenths) = ages.first(tenths).sum

    # The part of #born that came after a time, a share of the judged time, as far as the tenths say.
    def after(share)
      from = share.clamp(0.0, 1.0) * AGES
      born > 0 ? ages.each_with_index.sum { |space, age| space * (age + 1 - from).clamp(0.0, 1.0) } / born : 0.0
    end

    # The share in #born of the tenth, or of so many tenths in a row, in which most came: of what came all at once 1.
    def lump(tenths = 1) = born > 0 ? ages.each_cons(tenths).map(&:sum).max / born : 0.0

    # How evenly came what was born in the judged time: Student's t of what came in each tenth of it, of AGES - 1 degrees of
    # freedom.  One step has 1 whatever its size, three equal steps have 2; what comes evenly has the root of the samples.
    # Never more than sampling allows.
    def evenness
      mean = born / AGES
      uneven = ages.sum { |space| (space - mean)**2 } * AGES / (AGES - 1.0)
      born > 0 ? born / Math.sqrt([uneven, born * unit, 1.0].max) : 0.0
    end

    # The stack by which most came, as a handle of the last profile; nil if nothing did.
    def stack = stacks.max_by { |handle, space| [space, -handle] }&.first

    protected

    attr_reader :variance, :samples_now, :old

    private

    # GCs are seldom: what is born between two is taken to be born evenly.
    def spread(space, from, to)
      from, to = [from, to].map { |share| share.clamp(0.0, 1.0) * AGES }
      return @ages[[to.floor, AGES - 1].min] += space if to - from < 1e-9

      (from.floor..[to.ceil - 1, AGES - 1].min).each do |age|
        @ages[age] += space * ([to, age + 1].min - [from, age].max) / (to - from)
      end
    end
  end
end
