# frozen_string_literal: true

module HeapSample
  # One thing that grows: the lines of memory that one line of the application makes, together.  A request that
  # leaves 24 objects behind is one finding, not 24.
  class Finding
    # Such a part of what came at once is no leak, but a step.
    LUMP_MOST = 0.7
    # SurvivorGroup#evenness that a leak has, at least; what comes in one step, or in two or three, has less.
    EVENNESS_LEAST = 2.1
    # The same of a leak that was seen before; what comes in one step, or in two, has less.
    EVENNESS_TO_GO_ON = 1.5
    # Of the first tenths of the judged time, so many, and of its first half a leak has growth too: such a part of the mean, at least.
    BEGINNING = 3
    BEGINNING_LEAST = 0.25
    # Samples from which a finding may be relied on.
    SAMPLES_LEAST = 8
    # Samples from which its course is clear, however little it is.
    SAMPLES_CLEAR = 24
    # Shares of the quarters in which two that grow in step may differ.
    STEP = 0.15
    # What stands for a thread or a fiber: their stacks are no rows.
    THREAD_CLASSES = /\A(?:Thread|Fiber|Enumerator)\z/
    # Malloc'd memory that Ruby itself asked for.
    RUBY = AccountGrowth::RUBY_FILE

    # SurvivorGroups of lines, the largest growth first; that of all of them.
    attr_reader :groups, :whole
    # The Course of all of them, past the warm-up and since sampling started.
    attr_reader :course, :since_start
    # Places: the line that made most of it, and the application's line that led there (nil where there is none).
    attr_reader :line, :app_line
    # Frames by which most came, the innermost first.
    attr_reader :stack
    # The Container that keeps it, as far as known without a walk; nil.
    attr_accessor :keeper
    # The reference that keeps most of it, if a walk found it: a NearestHolder::Answer; nil.
    attr_accessor :holder
    # Where a walk was made: the part of it that came after the walk, which cannot know it; nil.
    attr_accessor :unseen

    # +profile+: the last one, whose stacks the groups name.
    def initialize(groups, survivors, profile)
      @groups = groups.sort_by { |group| -survivors.course(group).grew }
      @whole = SurvivorGroup.sum(groups, survivors.moments.size)
      @course = survivors.course(@whole)
      @since_start = survivors.course(@whole, from: 0.0)
      @line = @groups.first.key
      @app_line = Findings.app_line(@groups.first, profile)
      @stack = @groups.first.stack ? profile.stacks.stack(@groups.first.stack) : []
    end

    # Bytes that came to stay.
    def grew = course.grew

    # Does it grow all along, and not at once?
    def steady? = samples_enough? && course.certain? && course.steady? && (container? || (whole.lump <= LUMP_MOST && even? && !late? && stays?))

    # The 95% interval of #grew, by sampling alone.
    def interval = course.interval

    # Does it grow as a leak does?
    def leaks? = steady? && !fills?
    # Are there samples enough to see small growth?
    def clear? = steady? && many?

    # Are there samples enough to do without RSS, and for a proof?  Reports mark rows of fewer than ten as weak.
    def many_samples? = samples_enough?(2 * SAMPLES_LEAST)

    # Did it begin to grow in the judged time only?  So does a long job: an import, a report, a queue that is long for a while.
    # Births are of what is there at the end, growth is of what was there at a time: a leak has both from the beginning on.
    def late? = !container? && (lacking?(whole.first(BEGINNING), BEGINNING / SurvivorGroup::AGES.to_f * whole.born) || lacking?(course.parts.first(Course::PARTS / 2).sum, grew / 2))

    # Is it clear that it came in a few steps?
    def steps? = many? && !even?
    # Did it come in more than a few steps?
    def even?(least = EVENNESS_LEAST) = container? || whole.evenness >= least
    # Is it clear that it comes and goes?
    def passes? = !container? && (course.passes? || (many? && !early_stays?))
    # Is it clear that it slows down?  +work+: see Course#slowing?.
    def ends?(work = 1.0) = many? && course.slowing?(work)
    # Has it slowed down since sampling started?  A leak does not; what fills up does, however slowly, and its beginning falls
    # into the warm-up.  +work+: see Course#slowing?.
    def fills?(work = 1.0) = since_start.slowing?(work)
    # Is it of the same line as another?
    def same_line?(other) = [app_line || line, other.app_line || other.line].map { |place| place.path.empty? ? place : [place.path, place.line] }.uniq.one?

    # Does another grow in step with it, as far as sampling can tell?
    def in_step?(other)
      apart = quarters.zip(other.quarters).sum { |one, two| (one - two).abs } / 2
      apart <= STEP + Course::SLACK * Math.sqrt((course.noise**2) + (other.course.noise**2))
    end

    # The shares of the quarters of the time in what came.
    def quarters = course.parts.map { |part| part / [grew, 1.0].max }

    # Samples of what came to stay.
    def samples = whole.samples
    # Objects and blocks of what came to stay, about.
    def objects = whole.objects

    # Of which kind: :threads, :native or :leak.
    def kind
      return :threads if share(whole.classes) { |name| THREAD_CLASSES.match?(name) } >= 0.3
      return :native if share(whole.libraries) { |library| library && !RUBY.match?(library) && !library.empty? } >= 0.5

      :leak
    end

    # The class that most of it is of; nil if it is blocks of malloc.
    def class_name
      name, = whole.classes.reject { |known, _| known == ClassMix::MALLOC }.max_by { |known, space| [space, known] }
      name
    end

    # The class in whose method most of it was made: of C code that of the objects that it may belong to.  nil if it was no
    # method of an object.
    def receiver = stack.find { |frame| !frame.native? }&.qualified_label&.slice(/\A(.+)#/, 1)

    private

    # Are there samples enough?  Large blocks are all sampled, so that few are exact.
    def samples_enough?(least = SAMPLES_LEAST) = samples >= least || (samples.positive? && grew >= least * whole.unit)

    def many? = samples >= SAMPLES_CLEAR

    # Is it less than a part of what comes evenly, as far as sampling can tell?
    def lacking?(bytes, evenly) = (evenly * BEGINNING_LEAST).then { |least| bytes + Course::SLACK * Math.sqrt([least, 0].max * whole.unit) < least }

    # Is what came kept, the first of it too?
    def stays? = course.keeps? && early_stays?

    # Is what came in the first half of the time still there?  Of what comes and goes ever more comes while a load rises,
    # and yet none of it is old.
    def early_stays?
      early = course.parts.first(Course::PARTS / 2).sum
      whole.early + Course::SLACK * Math.sqrt([early, 0].max * whole.unit) >= early / 2
    end

    # Is it itself a container that gets larger: a String that is appended to, a table?  Its one block is always new.
    def container? = !keeper.nil? && keeper.line == line && keeper.grew >= grew / 2

    def share(bytes) = bytes.sum { |key, space| yield(key) ? space : 0.0 } / [bytes.values.sum, 1.0].max
  end
end
