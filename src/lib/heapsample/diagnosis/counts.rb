# frozen_string_literal: true

module HeapSample
  # What is counted exactly in a process, over its life: five sizes, each with a Verdict.
  #
  # [slots]   bytes of the objects that a major GC found alive
  # [malloc]  bytes that malloc had allocated when the sweep of a major GC ended
  # [mapped]  resident bytes of thread and fiber stacks, of mapped files, and of mappings that are neither Ruby's nor malloc's
  # [threads] how many threads live
  # [fibers]  how many fibers live
  #
  # The first two come from the major GCs that each profile lists, so one profile has points of the whole life; the others
  # have a point for each profile. The profile that is written at exit is no point: the program has begun to close down.
  class Counts
    KINDS = %i[slots malloc mapped threads fibers].freeze
    # Those that are bytes.
    BYTES = KINDS.first(3).freeze
    # The parts of the account that are mapped memory.
    MAPPED = %w[stacks code_and_files unattributed].freeze
    # Growth that is reported: at least a share of RSS; of threads and fibers so many, and such a share of all.
    FLOOR_OF_RSS = 0.005
    FLOOR_OF_COUNT = 20
    FLOOR_SHARE = 0.2
    # A point in so many seconds, at most and at least.
    SPACING = (1.5..60.0)
    # Points that are nearer to each other, as a part of that, are one moment.
    APART = 0.75
    # The newest points stay; of the older ones at most this many, a common stride apart. The GC's list has the same rule.
    NEWEST = 32
    OLDER = 96

    # One size: its kind, and its Verdict.
    Count = Struct.new(:kind, :verdict) do
      def points = verdict.points
      def state = verdict.state
      def bytes? = BYTES.include?(kind)
    end

    # An Array of Count, in the order of KINDS; without what is not known.
    attr_reader :all

    # call-seq:
    #   Counts.of(infos) -> HeapSample::Counts
    #
    # +infos+: HeapSample::Meta of the profiles of one process, in the order of time.
    def self.of(infos) = new(Points.new(infos).all, rss_of(infos))

    # call-seq:
    #   Counts.sum(several) -> HeapSample::Counts or nil
    #
    # Of several processes that run the same code, together: at the times at which one of them has a point and all live. nil
    # if they lived together for less than half of the longest life.
    def self.sum(several)
      points = KINDS.to_h { |kind| [kind, several.map { |counts| counts[kind]&.points }] }
      points = points.select { |_, all| all.all? { |one| one && one.size > 1 } }.transform_values { |all| together(all) }
      new(points.compact, several.sum(&:rss)) if points.any? && points.values.all?
    end

    # +points+: by kind; +rss+: bytes.
    def initialize(points, rss)
      @rss = rss
      @all = KINDS.filter_map do |kind|
        of_kind = points[kind]
        Count.new(kind, Verdict.of(of_kind, floor: floor(kind, of_kind))) if of_kind&.any?
      end
    end

    # Resident memory at the end, in bytes.
    attr_reader :rss

    # The Count of a kind; nil if it is not known.
    def [](kind) = all.find { |count| count.kind == kind }

    # The counts in a state, the largest growth first; threads and fibers before bytes, because they explain the bytes.
    def in_state(*states) = all.select { |count| states.include?(count.state) }.sort_by { |count| [count.bytes? ? 1 : 0, -count.verdict.grew] }

    # The size after major GCs that has the fewest points: a Count; nil if there were no major GCs.
    def fewest = [:slots, :malloc].filter_map { |kind| self[kind] }.min_by { |count| count.points.size }
    # How many points it has.
    def size = fewest&.points&.size || 0

    def self.rss_of(infos) = infos.filter_map { |info| info.account&.rss }.last || infos.filter_map { |info| info.majors.last&.slots }.last || 0
    private_class_method :rss_of

    # The sums of several sizes at the times at which one of them is known and all are.
    def self.together(all)
      from, to = all.map { |points| points.first.seconds }.max, all.map { |points| points.last.seconds }.min
      return if to - from < all.map { |points| points.last.seconds - points.first.seconds }.max / 2

      times = all.max_by(&:size).map(&:seconds).select { |time| time.between?(from, to) }
      times.map do |time|
        parts = all.map { |points| between(points, time) }
        Verdict::Point.new(time, parts.sum(&:first), parts.sum(&:last))
      end
    end

    # Work and size at a time, on the straight line between two points.
    def self.between(points, time)
      after = points.bsearch_index { |point| point.seconds >= time }
      one, other = points.values_at([after - 1, 0].max, after)
      share = other.seconds > one.seconds ? (time - one.seconds) / (other.seconds - one.seconds) : 0.0
      %i[work size].map { |name| one[name] + ((other[name] - one[name]) * share) }
    end
    private_class_method :together, :between

    private

    def floor(kind, points)
      return FLOOR_OF_RSS * rss if BYTES.include?(kind)

      [FLOOR_OF_COUNT, FLOOR_SHARE * points.last.size].max
    end

    # The points of one process.
    class Points
      def initialize(infos)
        @infos = infos
        @regular = infos.reject { |info| info.reason == "exit" }
        @regular = infos if @regular.empty?
      end

      # By kind.
      def all
        {slots: of_majors(&:slots), malloc: of_majors(&:malloc), mapped: of_profiles { |info| mapped(info.account) },
         threads: of_profiles { |info| info.alive&.threads&.count }, fibers: of_profiles { |info| info.alive&.fibers&.count }}
      end

      private

      def of_majors
        @majors ||= @infos.flat_map { |info| info.majors.reject { |major| inherited?(info, major) || closing?(info, major) } }
                          .to_h { |major| [major.gc, major] }.values.sort_by(&:gc) # a later profile has the malloc bytes of the end of the sweep
        spaced(@majors.filter_map { |major| (size = yield(major)) && Verdict::Point.new(major.time.to_f, major.objects, size) })
      end

      # Was it the parent's, before the fork?
      def inherited?(info, major) = info.began && major.time < info.began
      # Did the program close down already?
      def closing?(info, major) = info.reason == "exit" && !info.equal?(@regular.last) && major.time > @regular.last.taken

      def of_profiles
        spaced(@regular.filter_map { |info| info.objects && (size = yield(info)) && Verdict::Point.new(info.taken.to_f, info.objects, size) })
      end

      def mapped(account) = account && MAPPED.sum { |part| account[part].to_i }

      # Points that are well apart: what is kept of them does not depend on later ones.
      def spaced(points)
        kept = []
        points.each { |point| kept << point if kept.empty? || point.seconds - kept.last.seconds >= APART * spacing }
        thinned(kept)
      end

      # The usual time from profile to profile; of one profile a sixty-fourth of its life. Somebody who looks at a process asks
      # when it suits him: then it is the least.
      def spacing
        @spacing ||= begin
          gaps = @regular.each_cons(2).map { |one, other| (other.taken - one.taken).to_f }
          usual = gaps.empty? ? life / 64 : Curve.median(gaps)
          (@regular.all? { |info| info.reason == "asked" } ? 0 : usual).round.clamp(SPACING)
        end
      end

      def life = (@infos.last.taken - (@infos.last.majors.first&.time || @infos.last.started || @infos.last.taken)).to_f

      def thinned(points)
        older = points.first([points.size - NEWEST, 0].max)
        stride = 1
        stride *= 2 while older.size > OLDER * stride
        older.each_slice(stride).map(&:first) + points.last(NEWEST)
      end
    end
    private_constant :Points
  end
end
