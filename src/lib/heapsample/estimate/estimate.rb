# frozen_string_literal: true

module HeapSample
  # An estimate of how many objects there are and of their bytes, with what is
  # needed for its confidence interval.  Estimates of different objects add.
  class Estimate
    # Below so many samples a figure is marked as weak ...
    WEAK_BELOW = 10
    # ... unless its standard error is a smaller part of it than this: objects
    # larger than the interval are nearly all sampled.
    WEAK_ERROR = 0.1
    # The smallest part of a figure, and the fewest bytes, that are reported as
    # untouched: every large block ends in a page that is not full.
    UNTOUCHED_SHARE = 0.05
    UNTOUCHED_LEAST = 1 << 20

    # Samples behind the estimate.
    attr_reader :samples
    # Estimated number of objects.
    attr_reader :objects
    # Estimated bytes of heap slots, malloc'd memory, or both.
    attr_reader :space
    # Variance of +space+, in bytes squared.
    attr_reader :variance
    # Variance of +objects+.
    attr_reader :objects_variance
    # The part of +space+ that is not resident because it was never touched; and
    # how much of +variance+ goes with it.  A live block may have such a part, a
    # slot has none.
    attr_reader :untouched, :untouched_variance

    # call-seq:
    #   HeapSample::Estimate.sum(estimates) -> HeapSample::Estimate
    #
    # Several estimates together.
    def self.sum(estimates)
      estimates.inject(new) { |sum, estimate| sum.add(estimate) }
    end

    def initialize(samples = 0, objects = 0.0, space = 0.0, variance = 0.0, objects_variance = 0.0,
                   untouched = 0.0, untouched_variance = 0.0)
      @samples = samples
      @objects = objects
      @space = space
      @variance = variance
      @objects_variance = objects_variance
      @untouched = untouched
      @untouched_variance = untouched_variance
    end

    # Adds four columns of a row, which begin at index +at+; all its objects
    # have +slot_size+ bytes, or if that is 0 are taken to have their mean.
    # Returns self.
    def add_columns(row, at, slot_size) # :nodoc:
      objects = row[at + 1]
      space = row[at + 2]
      variance = row[at + 3]
      @samples += row[at]
      @objects += objects
      @space += space
      @variance += variance
      if slot_size > 0
        @objects_variance += variance / (slot_size * slot_size).to_f
      elsif space > 0
        @objects_variance += variance * (objects / space.to_f)**2
      end
      add_untouched(row, space, variance) if at == Columns::INUSE && row[Columns::RESIDENT] < space
      self
    end

    # Adds two other columns of the live objects of a row, bytes and their variance, which
    # begin at index +at+.  Returns self.
    def add_share(row, at) # :nodoc:
      return self unless row[at] > 0

      add(Estimate.new.add_columns(row, Columns::INUSE, row[Columns::SLOT_SIZE]).with_space(row[at], row[at + 1]))
    end

    # call-seq:
    #   add(other) -> self
    #
    # Adds another estimate in place; returns self.
    def add(other)
      @samples += other.samples
      @objects += other.objects
      @space += other.space
      @variance += other.variance
      @objects_variance += other.objects_variance
      @untouched += other.untouched
      @untouched_variance += other.untouched_variance
      self
    end

    # call-seq:
    #   estimate + other -> HeapSample::Estimate
    #
    # The estimate of both together.
    def +(other)
      dup.add(other)
    end

    # What is left when +part+, some of the same samples, is taken away.  Of what is
    # left as large a part is untouched as of all: +part+ may have been touched since.
    def without(part) # :nodoc:
      return Estimate.new if part.samples >= samples

      left = [space - part.space, 0].max
      ratio = space > 0 ? left / space.to_f : 0.0
      Estimate.new([samples - part.samples, 0].max, [objects - part.objects, 0].max, left, [variance - part.variance, 0].max,
                   [objects_variance - part.objects_variance, 0].max, untouched * ratio, untouched_variance * ratio)
    end

    # The part of it that is resident.
    def resident
      return self if untouched.zero?

      Estimate.new(samples, objects, [space - untouched, 0.0].max, [variance - untouched_variance, 0.0].max, objects_variance)
    end

    # Is enough of it untouched to be reported?
    def untouched?
      untouched >= [UNTOUCHED_SHARE * space, UNTOUCHED_LEAST].max
    end

    # The part of this estimate and of +other+ that +samples+ samples of both make,
    # if it is not known which they are: all of an estimate that has no more samples, else at
    # the smaller mean.  It is never more than either.
    def common(other, samples) # :nodoc:
      return Estimate.new if samples.zero?

      all = samples >= [self.samples, other.samples].min
      Estimate.new(samples, *COMMON.map do |name|
        [self, other].map { |one| all ? one.public_send(name) : one.public_send(name) * samples / one.samples.to_f }.min
      end)
    end

    # This estimate less what #common gave.
    def less(part) # :nodoc:
      Estimate.new(samples - part.samples, *COMMON.map { |name| public_send(name) - part.public_send(name) })
    end

    COMMON = %i[objects space variance objects_variance untouched untouched_variance].freeze
    private_constant :COMMON

    # call-seq:
    #   space_interval(unit: 0.0) -> [Float, Float]
    #
    # The 95% interval of +space+ in bytes.  +unit+: the bytes that one sample
    # stands for, which bounds what may exist where nothing was sampled.
    def space_interval(unit: 0.0)
      Statistics.interval(total: space, variance: variance, size: mean_size, unit: unit)
    end

    # The 95% interval of +objects+.
    def objects_interval
      Statistics.interval(total: objects, variance: objects_variance, size: 1)
    end

    # call-seq:
    #   interval(measure = :space) -> [Float, Float] or nil
    #
    # The 95% interval of #space or, if +measure+ is :objects, of #objects; nil if
    # the profile does not have the number of samples, as profiles of other tools do not.
    def interval(measure = :space)
      return if samples.zero?

      measure == :objects ? objects_interval : space_interval
    end

    # call-seq:
    #   with_space(bytes, variance = nil) -> HeapSample::Estimate
    #
    # The same bytes by another account, as far off in proportion; or with the given +variance+.
    def with_space(space, variance = nil)
      ratio = self.space > 0 ? space / self.space.to_f : 0.0
      Estimate.new(samples, objects, space, variance || self.variance * ratio**2, objects_variance)
    end

    # Mean bytes of an object.  What is left of two estimates may be bytes alone;
    # then the mean of a sample, which is no less.
    def mean_size
      return space / objects.to_f if objects > 0

      samples > 0 ? space / samples.to_f : 0.0
    end

    # Too few samples to rely on?  Never so if all objects were sampled.
    def weak?
      samples < WEAK_BELOW && variance > (WEAK_ERROR * space)**2
    end

    # Was every object sampled, or as good as that?
    def exact?
      samples > 0 && certain?
    end

    # Is there no error to speak of?
    def certain?
      variance <= (Statistics::EXACT_ERROR * space)**2
    end

    # Nothing to show?  A damaged file may have objects without bytes.
    def zero?
      objects.zero? || space.zero?
    end

    # Figures as JSON has them; intervals are [low, high], or null where not known.
    def to_h
      {bytes: space, bytes_interval: interval, objects: objects, objects_interval: interval(:objects),
       samples: samples, weak: weak?, **(untouched > 0 ? {resident_bytes: resident.space, resident_bytes_interval: resident.interval} : {})}
    end

    # For pattern matching, the names of #to_h.
    def deconstruct_keys(_) = to_h

    def ==(other)
      other.is_a?(Estimate) && samples == other.samples && objects == other.objects &&
        space == other.space && variance == other.variance
    end

    # "120.4 MiB ±2.9 MiB in 1,234 objects, 240 samples".
    def to_s = Layout.new.amount(self)

    def inspect
      "#<#{self.class} #{samples} samples, #{objects.round} objects, #{space.round} bytes>"
    end

    private

    # The variance of blocks of one size that are partly resident is at most as
    # much smaller as their sum is: as much if each is resident as a whole or not at all.
    def add_untouched(row, space, variance)
      untouched = space - row[Columns::RESIDENT]
      @untouched += untouched
      @untouched_variance += variance * (untouched / space.to_f)
    end
  end
end
