# frozen_string_literal: true

module HeapSample
  # What one line of code added to the memory that major GCs left alive, by samples: between an early profile and the last
  # one of a process, or of several that run the same code.
  class LineGrowth
    # Parts of the time by which allocations are counted.
    PARTS = 3
    # Standard deviations from which growth is more than sampling explains.
    CERTAIN = 2.4
    # The same where no line is certain by itself, although the counts show that the process grows: 19 times in 20.
    PROBABLE = 1.65
    # Growth by fewer objects than these is a container that is replaced by a larger one.
    CONTAINER = 16
    # What stays has such a part of its growth, at least, in what was allocated first.
    FIRST_LEAST = 0.25
    # Entries of a container grow if they are so many times as many.
    ENTRIES_LEAST = 1.1

    # The line: a Place. Bytes, objects and samples by which it grew; their variance; and resident bytes.
    attr_reader :place, :space, :objects, :samples, :variance, :resident
    # Bytes, and objects, that were allocated in each part of the time and are still there.
    attr_reader :parts, :part_objects
    # Bytes by class, by shared library (nil: heap slots), and by stack: of what was allocated and is still there.
    attr_reader :classes, :libraries
    # What retains it, what retains a part that is too small for that (NearestHolder::Answers, or nil); the Walks that found it.
    attr_accessor :holder, :partly, :walks

    def initialize(place)
      @place = place
      @space = @objects = @variance = @resident = 0.0
      @samples = 0
      @parts, @part_objects = Array.new(2) { [0.0] * PARTS }
      @classes, @libraries, @stacks = Array.new(3) { Hash.new(0.0) }
    end

    # Adds a row of what was allocated and survived; +shares+: how much of it belongs to each part of the time.
    def came(profile, row, shares)
      bytes = row[Columns::INUSE_SPACE]
      add(row, 1, 1)
      shares.each_with_index do |share, part|
        @parts[part] += bytes * share
        @part_objects[part] += row[Columns::INUSE_OBJECTS] * share
      end
      @classes[profile.text(row[Columns::CLASS])] += bytes
      @libraries[row[Columns::MALLOC] ? profile.text(row[Columns::LIBRARY]) : nil] += bytes
      @stacks[CameBy::Stack.new(profile.stacks, row[Columns::STACK])] += bytes
      @samples += row[Columns::INUSE_SAMPLES]
    end

    # Adds a row of the early profile.
    def was_there(row) = add(row, -1, 1)
    # Adds a row of the last profile that was there before. These rows are also in the early profile: the difference is
    # what was freed, and its variance is the difference of both variances.
    def is_still_there(row) = add(row, 1, -1)

    # The standard deviation of #space.
    def error = Math.sqrt(variance.abs)
    # The 95% interval of #space, by sampling alone.
    def interval = (Statistics::Z * error).then { |width| [space - width, space + width] }
    # Is it more than sampling explains?
    def certain? = beyond?(CERTAIN)
    # Is it probably more?
    def probable? = beyond?(PROBABLE)
    # Is it one container that is replaced by larger ones?
    def container? = objects < CONTAINER && samples.positive?
    # The Walks::Entries of the container that is its holder; nil if it is none.
    def entries = @entries ||= (walks.entries(holder) if walks && holder&.named?)
    # Is it a table that became larger, though its entries did not become more?
    def table_only? = container? && !entries&.before.nil? && !entries.grew?(ENTRIES_LEAST)
    # Did it replace what its holder retained before?
    def replaces? = (holder || partly)&.then { |answer| answer.named? && walks.replaces?(place, answer) } || false
    # Is what was allocated retained? If it is freed again soon, all of it is new.
    def stays? = container? || parts.first + (Statistics::Z * error / 2) >= FIRST_LEAST * space / PARTS

    # The frames by which most of it was allocated, the innermost first.
    def stack = heaviest ? heaviest.frames : []
    # The line of the application that led to most of it, a Place; nil if there is none.
    def app_line = heaviest&.application
    # Where to look: the application's line if there is one; of what runs no Ruby code, as "(no GVL)", the native function.
    def subject = app_line || (place.path.empty? && function ? Place.new("", nil, function.to_s) : place)
    # The class that most of it is of; nil if it is blocks of malloc.
    def class_name = classes.reject { |name, _| name == ClassMix::MALLOC }.max_by { |name, bytes| [bytes, name] }&.first

    # The native function that most of it was allocated for: see CameBy::Stack#function.
    def function = @function ||= heaviest&.function
    # The gem whose extension led to that function, "nokogiri-1.16.0"; nil if there is none.
    def gem = heaviest&.extension
    # The shared library that asked for most of it; nil of heap slots.
    def library = function&.library || libraries.max_by { |_, bytes| bytes }&.first
    # Did C code of a library other than Ruby ask for it? What it asked Ruby for belongs to an object, if a reference leads to it.
    def native? = (foreign?(libraries.max_by { |_, bytes| bytes }&.first) || (!function.nil? && !holder.nil? && !holder.known?))
    # Is it memory of C code to which no reference was found?
    def lost? = native? && !holder.nil? && !holder.known?

    # JSON-ready. With +stacks+, it has its stack. The block makes bytes an hour of bytes.
    def to_h(stacks: false)
      {line: place.text, app_line: app_line&.text, class: class_name, library: library, function: function&.to_s, gem: gem, bytes: space, resident_bytes: resident, interval: interval,
       bytes_per_hour: (yield(space) if block_given?), objects: objects, samples: samples, stack: (stack.map(&:to_s) if stacks)}.compact
    end

    private

    def beyond?(deviations) = samples.positive? && space.positive? && space >= deviations * error

    def add(row, sign, variance)
      @space += sign * row[Columns::INUSE_SPACE]
      @resident += sign * row[row[Columns::MALLOC] ? Columns::RESIDENT : Columns::INUSE_SPACE]
      @objects += sign * row[Columns::INUSE_OBJECTS]
      @variance += variance * row[Columns::INUSE_VARIANCE]
    end

    def foreign?(library) = library ? !library.empty? && !AccountGrowth::RUBY_FILE.match?(library) : false

    def heaviest = @heaviest ||= @stacks.max_by { |_, bytes| bytes }&.first
  end
end
