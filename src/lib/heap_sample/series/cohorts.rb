# frozen_string_literal: true

module HeapSample
  # What of each group of rows was settled at some moments of a series, by when
  # it was born: the figures that Leaks judges.
  #
  # *Settled* at a moment is what was born before it and is still there after two
  # more major GCs have begun, the first of which then is complete: whatever
  # died young, waits for a major GC, or lives for a few GCs is not in it.  It is
  # read from a profile after that (the moment's observer), as the rows with
  # a GC of birth up to the moment's GC count.  Blocks of malloc are settled likewise: many belong to objects,
  # and are freed when these are swept.  In files of format 2 rows of malloc have no birth: all of
  # what is allocated at the observer counts, with the samples ever taken.
  #
  # Bytes are those that are resident: what was never touched fills no memory.
  #
  # Between two moments a group gained what was born after the first and is settled
  # at the second, and lost what was settled at the first and no longer is at the
  # second.  All of it are different objects, so that neither figure has the
  # survivors' error in it.
  #
  # A heap that does not grow has few major GCs, or none for hours.  Where there are
  # too few, what is still there after GCS more GCs of any kind stands in (#settled? is
  # false then): young garbage is not in it, old garbage is.
  #
  # The moments are at most BLOCKS + 1 profiles, evenly in time; only their
  # observers are read.
  class Cohorts
    BLOCKS = 12
    BLOCKS_LEAST = 4
    MAJORS = 2
    # As many make an object old, and one more to be safe.
    GCS = 4
    # So much of the time since sampling started is taken for warm-up.
    WARM_UP = 0.2
    # So many profiles have a moment; the others are too long after their GCs.
    MOST = 0.8
    # The end, of which growth has to go on: a third and a sixth.
    RECENT = [1 / 3.0, 1 / 6.0].freeze

    # A moment: index of its observer, time, GC count.
    Moment = Struct.new(:observer, :time, :gc)

    # What came and what went, Estimates.
    Change = Struct.new(:gained, :lost) do
      include Net

      def add(other)
        gained.add(other.gained)
        lost.add(other.lost)
        self
      end
    end

    # Moments, none if there are too few; then #reason says why.
    attr_reader :moments, :reason
    # Sentences about what was left out.
    attr_reader :notes
    # Hash of group's key => Cohort.
    attr_reader :groups
    # The last profile read.
    attr_reader :profile
    # Bytes of slots from before sampling started that died between the first observer and the
    # last, about; nil if not known.
    attr_reader :died_before

    # +by+: one of Groups::BY, or :stack; +warmup+: seconds since sampling
    # started, nil for WARM_UP.
    def initialize(series, by: :line, kind: :both, warmup: nil)
      @series = series
      @by = by
      @wanted = Groups.wanted(kind)
      @notes = []
      @moments = choose(warmup)
      read unless @moments.empty?
    end

    # Have major GCs looked at what is judged?
    def settled? = @settled

    # Number of blocks.
    def size = moments.size - 1

    def hours = (moments.last.time - moments.first.time) / 3600.0

    # How many blocks make the last third and the last sixth, as near as they come.
    def recent
      @recent ||= RECENT.map do |part|
        (1...size).min_by { |count| [(shares.last(count).sum { |time, gcs| (time + gcs) / 2 } - part).abs, count] }
      end.uniq
    end

    # Shares of time and of GCs of each block.
    def shares
      @shares ||= begin
        seconds = moments.last.time - moments.first.time
        gcs = moments.last.gc - moments.first.gc
        moments.each_cons(2).map do |from, to|
          time = (to.time - from.time) / seconds
          [time, gcs > 0 ? (to.gc - from.gc) / gcs.to_f : time]
        end
      end
    end

    # All groups together: answers what a Cohort does of Change.
    def total = Total.new(groups.values)

    Total = Struct.new(:cohorts) do
      def since(_) = nil

      def between(...) = sum { |cohort| cohort.between(...) }
      def block(...) = sum { |cohort| Change.new(*cohort.block(...)) }.to_a

      private

      def sum
        cohorts.each_with_object(Change.new(Estimate.new, Estimate.new)) { |cohort, sum| sum.add(yield(cohort)) }
      end
    end

    # The time and the GCs from the last moment to its observer, as shares like #shares.
    def since_shares
      @since_shares ||= begin
        first, last = moments.first, moments.last
        info = @series.infos[last.observer]
        [(info.taken - last.time) / (last.time - first.time), (info.gc_count - last.gc) / [last.gc - first.gc, 1].max.to_f]
      end
    end

    # The Trend of a Cohort, or of its :slots or :malloc alone.
    def trend(cohort, kind = :both)
      blocks = shares.each_with_index.map do |(time, gcs), index|
        Trend::Block.new(*cohort.block(index, size, kind), time, gcs)
      end
      Trend.new(blocks, whole: cohort.between(0, size, kind), hours: hours,
                        recent: recent.to_h { |count| [count, cohort.between(size - count, size, kind)] },
                        since: cohort.since(kind), since_shares: since_shares)
    end

    # One group at each moment.
    class Cohort
      # A group's key: a Place, a name, or the frames of a stack.
      attr_reader :key

      def initialize(key)
        @key = key
        @since = Estimate.new
        @since_blocks = Estimate.new
        @born = []              # by moment: Estimates of slots by the moment they were born before
        @blocks = []            # the same of malloc
        @malloc = []            # of malloc without births, by moment: Estimate in use
        @ever = []              # by moment: samples of malloc ever
        @classes = Hash.new(0.0)
        @stacks = Hash.new(0.0)
      end

      def add_born(moment, bucket, row)
        born = row[Columns::MALLOC] ? @blocks : @born
        ((born[moment] ||= [])[bucket] ||= Estimate.new).add_columns(row, Columns::INUSE, row[Columns::SLOT_SIZE])
      end

      # Of malloc without births.
      def add_malloc(moment, row)
        (@malloc[moment] ||= Estimate.new).add_columns(row, Columns::INUSE, 0)
        @ever[moment] = @ever[moment].to_i + row[Columns::ALLOC_SAMPLES]
      end

      # Notes of a row at the last moment what it is.
      def describe(row, profile)
        @classes[profile.text(row[Columns::CLASS])] += row[Columns::RESIDENT]
        @stacks[row[Columns::STACK]] += row[Columns::RESIDENT]
      end

      # What memory it is of: some of :slots and :malloc.
      def kinds = [*(:slots if @born.any?), *(:malloc if @malloc.any? || @blocks.any?)]

      # Estimate of what was born after the last moment and is in use at its observer: what
      # stays, and some garbage.  nil of malloc without births, which is judged up to the observer.
      def since(kind)
        return unless kind == :slots || @malloc.empty?

        {slots: [@since], malloc: [@since_blocks]}.fetch(kind, [@since, @since_blocks]).inject(:+).resident
      end

      def add_since(row) = (row[Columns::MALLOC] ? @since_blocks : @since).add_columns(row, Columns::INUSE, row[Columns::SLOT_SIZE])

      # What block +index+ put there for good: what was born in it and is settled at the last moment;
      # malloc that tells no birth, gained and lost in it.  Estimates of what came and went.
      def block(index, last, kind)
        change = Change.new(settled(kind, last, index + 1..index + 1).resident, Estimate.new)
        change.add(exchanged(index, index + 1)) unless kind == :slots || @malloc.empty?
        change.to_a
      end

      # Change between two moments, of :slots, :malloc or :both.
      def between(from, to, kind = :both)
        change = moved(kind, from, to)
        change.add(exchanged(from, to)) unless kind == :slots || @malloc.empty?
        change
      end

      # Estimate of what is settled at a moment, likewise.
      def at(moment, kind = :both)
        whole(moment, kind).resident
      end

      # Bytes of it that were never touched.
      def untouched(moment, kind = :both) = whole(moment, kind).untouched

      # Names of classes with the bytes that came and stayed, the most first.
      def classes = @classes.sort_by { |name, space| [-space, name] }

      # The stack's handle in Cohorts#profile from which most came; nil if none did.
      def stack = @stacks.max_by { |handle, space| [space, -handle] }&.first

      private

      def whole(moment, kind)
        estimate = settled(kind, moment, 0..moment)
        kind == :slots || @malloc[moment].nil? ? estimate : estimate + @malloc[moment]
      end

      def settled(kind, moment, buckets)
        tables = {slots: [@born], malloc: [@blocks]}.fetch(kind, [@born, @blocks])
        tables.filter_map { |table| table[moment] }.each_with_object(Estimate.new) do |born, sum|
          buckets.each { |bucket| sum.add(born[bucket]) if born[bucket] }
        end
      end

      # What is born before +from+ and lost is told of slots and of malloc apart: each has fewer samples then.
      def moved(kind, from, to)
        kinds = kind == :both ? %i[slots malloc] : [kind]
        lost = kinds.map { |one| settled(one, from, 0..from).without(settled(one, to, 0..from)) }
        Change.new(settled(kind, to, from + 1..to).resident, lost.inject(:+).resident)
      end

      # As Diff does, for the group as one.
      def exchanged(from, to)
        was, now = [from, to].map { |moment| @malloc[moment] || Estimate.new }
        change = now.samples - was.samples
        born = (@ever[to].to_i - @ever[from].to_i).clamp([change, 0].max, now.samples)
        common = was.common(now, now.samples - born)
        born.zero? && change.zero? ? Change.new(Estimate.new, Estimate.new) : Change.new(now.less(common).resident, was.less(common).resident)
      end
    end

    private

    def choose(warmup)
      stretch = constant_stretch
      infos = @series.infos
      if stretch.any? { |index| infos[index].gc_count.nil? || infos[index].gc_major.nil? }
        return none("The profiles do not tell when GCs were, so what is settled is not known.")
      end

      warm = warm_until(warmup)
      [[:gc_major, MAJORS], [:gc_count, GCS]].each do |count, more|
        ready = settled_moments(stretch, count, more)
        moments = spread(ready.reject { |moment| moment.time < warm })
        @settled = count == :gc_major
        return moments if moments.size > BLOCKS_LEAST

        @reason = too_few(stretch.size, ready.size, moments.size) unless @settled
      end
      []
    end

    def none(reason)
      @reason = reason
      []
    end

    # Where the sampler thins its samples the weights of the others change, and with them the error of survivors: only the
    # longest time without that is judged.
    def constant_stretch
      settings = @series.infos.map do |info|
        [info.weights, *(info.malloc_weights if info.malloc_state == "on")]
      end
      stretches = settings.each_index.chunk_while { |one, other| settings[one] == settings[other] }.to_a
      longest = stretches.max_by { |stretch| [@series.times[stretch.last] - @series.times[stretch.first], stretch.size] }
      if stretches.size > 1
        @notes << "The sampling interval changed #{times(stretches.size - 1)}: judged are the #{longest.size} profiles from " \
                  "#{clock(longest.first)} to #{clock(longest.last)}, the longest time with one."
      end
      longest
    end

    def times(count) = {1 => "once", 2 => "twice"}.fetch(count) { "#{count} times" }

    def clock(index) = @series.times[index].utc.strftime("%H:%M:%S UTC")

    # A moment for each profile, +wait+ before it: so long that so many +more+ GCs, of a kind,
    # are in between for most, and the same for all, for what lives about that long
    # would seem to come and go otherwise.
    def settled_moments(stretch, count, more)
      infos, times = @series.infos, @series.times
      at = 0
      needs = stretch.filter_map do |index|
        most = infos[index].public_send(count) - more
        next if infos[stretch.first].public_send(count) > most

        at += 1 while infos[stretch[at + 1]].public_send(count) <= most
        [index, times[index] - times[stretch[at]]]
      end
      wait = needs.map(&:last).sort[(needs.size * MOST).ceil - 1]
      needs.filter_map do |index, need|
        time = times[index] - wait
        Moment.new(index, time, gc_at(time, stretch)) if need <= wait && time >= times[stretch.first]
      end
    end

    # GCs up to a time, as if they were even between two profiles.
    def gc_at(time, stretch)
      after = stretch.bsearch { |index| @series.times[index] >= time }
      return @series.infos[after].gc_count if after == stretch.first

      from, to = [after - 1, after].map { |index| @series.times[index] }
      counts = [after - 1, after].map { |index| @series.infos[index].gc_count }
      (counts[0] + (counts[1] - counts[0]) * ((time - from) / (to - from))).floor
    end

    def warm_until(warmup)
      started = @series.infos.first.started || @series.times.first
      started + (warmup || (@series.times.last - started) * WARM_UP)
    end

    def too_few(size, ready, judged)
      causes = []
      causes << "#{size - ready} had fewer than #{GCS} GCs after" if ready < size
      causes << "#{ready - judged} fell into the warm-up" if judged < ready
      "Too few profiles to say: #{BLOCKS_LEAST + 1} are needed that are past the warm-up and have #{GCS} GCs after them. " \
        "Of #{size}, #{judged} #{judged == 1 ? "is" : "are"} of use#{": #{causes.join(", ")}" unless causes.empty?}."
    end

    # At most BLOCKS + 1 of +ready+, evenly in time, no two of one GC count.
    def spread(ready)
      ready = ready.uniq(&:gc)
      return ready if ready.size <= BLOCKS + 1

      from, to = ready.first.time, ready.last.time
      Array.new(BLOCKS + 1) do |number|
        wanted = from + (to - from) * number / BLOCKS
        ready.min_by { |moment| (moment.time - wanted).abs }
      end.uniq
    end

    def read
      births = moments.map(&:gc)
      @groups = {}
      @interner = {}
      @stack_keys = {}
      before_first = nil
      moments.each_with_index do |moment, number|
        @profile = @series[moment.observer]
        add(births, number)
        before = before_start
        before_first ||= before
        @died_before = before_first - before if before_first && before
      end
    end

    # As Report tells it: allocated slots that are not the profile's.
    def before_start
      live, at_start = @profile.info.live_bytes, @profile.info.live_bytes_at_start
      return unless live && at_start && !@series.filtered

      known = @profile.table.sum { |row| row[Columns::MALLOC] ? 0 : row[Columns::INUSE_SPACE] + row[Columns::YOUNG_SPACE] }
      (live - known).clamp(0, at_start)
    end

    def add(births, number)
      last = number == moments.size - 1
      keys = Keys.new(@profile, @by) unless @by == :stack
      birthless = !@profile.info.malloc_births?
      @profile.table.each do |row|
        ever = birthless && row[Columns::MALLOC]
        next unless row[Columns::INUSE_OBJECTS] > 0 || ever
        next unless @wanted.nil? || row[Columns::MALLOC] == @wanted
        next unless ever || (bucket = bucket_of(row, births))

        group = (@groups[key = keys ? keys.of(row) : stack_key(row)] ||= Cohort.new(key))
        group.describe(row, @profile) if last && (ever || bucket > 0) && row[Columns::INUSE_OBJECTS] > 0
        next (group.add_since(row) if last) if bucket == births.size

        ever ? group.add_malloc(number, row) : group.add_born(number, bucket, row)
      end
    end

    # The first moment that a row was born before; their number if it was born after all.
    def bucket_of(row, births)
      birth = row[Columns::BIRTH_GC]
      birth && (births.bsearch_index { |gc| gc >= birth } || births.size)
    end

    def stack_key(row)
      stacks = @profile.stacks
      @stack_keys[stacks.identity(row[Columns::STACK], @interner)] ||= stacks.stack(row[Columns::STACK])
    end
  end
end
