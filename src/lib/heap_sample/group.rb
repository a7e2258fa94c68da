# frozen_string_literal: true

module HeapSample
  # Rows that share a line, method, file, class, type, gem, function or library,
  # summed.  What is in use is of slots and of malloc together.
  class Group
    # A Place, or the name of a class, type, gem, function or library.
    attr_reader :key
    attr_reader :inuse, :young, :alloc, :dead
    # That part of what is in use which malloc gave.
    attr_reader :malloc
    # Bytes of the slots in use with what they hold outside.
    attr_reader :memsize

    # +malloc_deaths+: do rows of malloc tell deaths?  See Meta#malloc_births?.
    def initialize(key, malloc_deaths: true)
      @key = key
      @malloc_deaths = malloc_deaths
      @inuse = Estimate.new
      @young = Estimate.new
      @alloc = Estimate.new
      @dead = Estimate.new
      @malloc = Estimate.new
      @deathless = Estimate.new
      @memsize = 0.0
      @dead_gcs = 0.0
      @births = 0.0
      @born = 0.0
      @live_by_class = Hash.new(0.0)
    end

    def add(row)
      malloc = row[Columns::MALLOC]
      slot_size = row[Columns::SLOT_SIZE]
      @deaths_untold ||= slot_size.zero? && !malloc     # another program's row
      @malloc.add_columns(row, Columns::INUSE, 0) if malloc && row[Columns::INUSE + 1] > 0
      add_inuse(row, slot_size) if row[Columns::INUSE + 1] > 0
      if row[Columns::YOUNG + 1] > 0
        @young.add_columns(row, Columns::YOUNG, slot_size)
        @live_by_class[row[Columns::CLASS]] += row[Columns::YOUNG + 2]
      end
      if row[Columns::ALLOC + 1] > 0
        @alloc.add_columns(row, Columns::ALLOC, slot_size)
        @deathless.add_columns(row, Columns::ALLOC, slot_size) if malloc && !@malloc_deaths
      end
      return unless row[Columns::DEAD + 1] > 0

      @dead.add_columns(row, Columns::DEAD, slot_size)
      @dead_gcs += row[Columns::DEAD_GCS]
    end

    # Adds another group's sums.
    def merge(group)
      @inuse.add(group.inuse)
      @young.add(group.young)
      @alloc.add(group.alloc)
      @dead.add(group.dead)
      @malloc.add(group.malloc)
      @deathless.add(group.deathless)
      @memsize += group.memsize
      @dead_gcs += group.dead_gcs
      @deaths_untold ||= group.deaths_untold
      @births += group.births
      @born += group.born
      group.live_by_class.each { |reference, space| @live_by_class[reference] += space }
      self
    end

    # Mean number of GCs since the birth of what is in use; nil if not known.
    def age(gc_count)
      gc_count - @births / @born if gc_count && @born > 0
    end

    # Mean number of GCs that the dead had survived; nil if there are none.
    def lifetime
      @dead_gcs / @dead.objects.to_f if @dead.objects > 0
    end

    # Share of what was allocated that was found dead, by bytes, of all that the profile
    # tells deaths of; nil if that is nothing.
    def dead_share
      told = @alloc.space - @deathless.space
      [@dead.space / told.to_f, 1.0].min if told > 0 && @alloc.samples > 0 && !deaths_untold
    end

    # The 95% interval of #dead_share; nil if there is none, or it is not known.
    def dead_interval
      share = dead_share
      told = @alloc.less(@deathless) if share
      return unless told && told.samples > 0

      Statistics.proportion(share, total: told.space, variance: told.variance, size: told.mean_size)
    end

    # Bytes of the slots in use.
    def slots_space
      @malloc.space.zero? ? @inuse.space : [@inuse.space - @malloc.space, 0].max
    end

    # Live bytes (in use and young) by class reference, largest first.
    def classes
      @live_by_class.sort_by { |reference, space| [-space, reference.to_s] }
    end

    protected

    attr_reader :deaths_untold, :dead_gcs, :births, :born, :live_by_class, :deathless

    private

    def add_inuse(row, slot_size)
      @inuse.add_columns(row, Columns::INUSE, slot_size)
      @memsize += row[Columns::MEMSIZE]
      @live_by_class[row[Columns::CLASS]] += row[Columns::INUSE + 2]
      birth = row[Columns::BIRTH_GC]
      return unless birth

      @births += birth * row[Columns::INUSE + 1]
      @born += row[Columns::INUSE + 1]
    end
  end

  # The rows of a profile, grouped.
  class Groups
    include Enumerable

    # What rows can be grouped by.  :line is where the memory was allocated; :app the
    # nearest line above it that is the application's, not a gem's or Ruby's own, or
    # where there is none the line itself.
    KINDS = %i[line app method file class type gem function library].freeze
    # Which rows.
    MEMORY = %i[both slots malloc].freeze

    # The rows of all groups together: a Group whose key is nil.
    attr_reader :total

    # call-seq:
    #   Groups.of(profile, by, kind = :both) -> groups
    #
    # Sums the rows of +profile+ by one of KINDS; +kind+ is one of MEMORY.
    def self.of(profile, by, kind = :both)
      keys = Keys.new(profile, by)
      groups = {}.compare_by_identity
      wanted = wanted(kind)
      malloc_deaths = profile.info.malloc_births?
      profile.table.each do |row|
        next unless wanted.nil? || row[Columns::MALLOC] == wanted

        key = keys.of(row)
        (groups[key] ||= Group.new(key, malloc_deaths: malloc_deaths)).add(row)
      end
      new(groups.values)
    end

    # What Columns::MALLOC is in the rows of one of MEMORY; nil: either.
    def self.wanted(kind)
      return {both: nil, slots: false, malloc: true}[kind] if MEMORY.include?(kind)

      raise ArgumentError, "kind is one of #{MEMORY.map(&:inspect).join(", ")}, not #{kind.inspect}"
    end

    def initialize(groups)
      @groups = groups
      @total = groups.each_with_object(Group.new(nil)) { |group, total| total.merge(group) }
    end

    def each(&block)
      @groups.each(&block)
    end

    def size
      @groups.size
    end

    # The largest groups by the bytes of one estimate: :inuse, :young, :alloc
    # or :dead; those that have none of it are left out.
    def largest(estimate, count)
      ranked(count) { |group| group.public_send(estimate).then { |part| part.zero? ? 0 : part.space } }
    end

    # The first +count+ groups by what the block makes of them; those that it gives
    # 0 are left out.
    def ranked(count)
      @groups.each_with_index.filter_map { |group, index| yield(group).then { |number| [-number, index, group] if number > 0 } }
             .min(count).map(&:last)
    end
  end

  # What a row of a profile is grouped by.  Equal keys are one object.
  class Keys
    NO_STACK = Place.new("", 0, Stacks::NO_STACK).freeze
    # The function and library of what is no malloc'd memory,
    SLOTS = "(slots)"
    # and of what is and has no native frame.
    NO_FUNCTION = "(unknown)"
    # Functions that only hand malloc's memory on: their caller is of interest.
    HANDS_ON = /(?:malloc|calloc|realloc|zalloc|memalign|strn?dup)|\A_Zn[aw]/i

    # Raises ArgumentError unless +by+ is one of Groups::KINDS.
    def initialize(profile, by)
      unless Groups::KINDS.include?(by)
        raise ArgumentError, "cannot group by #{by.inspect}: by is one of #{Groups::KINDS.map(&:inspect).join(", ")}"
      end

      @profile = profile
      @stacks = profile.stacks
      @by = by
      @names = {}
      @places = []
      @same = {}
      @functions = {}
    end

    # A Place, or the name of a class, type, gem, function or library.
    def of(row)
      case @by
      when :function then row[Columns::MALLOC] ? function(row) : SLOTS
      when :library then row[Columns::MALLOC] ? name(row[Columns::LIBRARY]) : SLOTS
      when :class then name(row[Columns::CLASS])
      when :type then name(row[Columns::TYPE])
      when :gem then gem(@stacks.site(row[Columns::STACK]))
      when :app then place(@stacks.application_site(row[Columns::STACK]) || @stacks.site(row[Columns::STACK]))
      else place(@stacks.site(row[Columns::STACK]))
      end
    end

    private

    def name(reference)
      @names[reference] ||= -@profile.text(reference)
    end

    # The function of the library that called malloc which wanted the memory:
    # "xmlNewNode (libxml2.so.2)".
    def function(row)
      @functions[[row[Columns::STACK], row[Columns::LIBRARY]]] ||= begin
        frames = native_frames(row)
        library = name(row[Columns::LIBRARY])
        own = frames.drop_while { |frame| frame.library != library }.take_while { |frame| frame.library == library }
        own = frames if own.empty?
        frame = own.find { |candidate| !HANDS_ON.match?(candidate.label) } || own.first
        text = frame ? frame.to_s : NO_FUNCTION
        @names[text] ||= -text
      end
    end

    # Above the nearest Ruby frame, leaf first.
    def native_frames(row)
      ids = []
      @stacks.each_frame_id(row[Columns::STACK]) do |id|
        break unless @stacks.native?(id)

        ids << id
      end
      ids.map { |id| @stacks.frame(id) }
    end

    # The gem that the code of a frame is of; what stands for something else than
    # code is itself: "(GC)".
    def gem(site)
      return Stacks::NO_STACK unless site

      @places[site] ||= begin
        frame = @stacks.frame(site)
        name = frame.full_path.empty? ? frame.label : GemName.of(frame.full_path)
        @same[name] ||= name
      end
    end

    def place(site)
      return NO_STACK unless site

      @places[site] ||= begin
        frame = @stacks.frame(site)
        line = frame.lineno if %i[line app].include?(@by)
        label = frame.qualified_label unless @by == :file
        place = Place.new(frame.full_path, line, label)
        @same[place] ||= place
      end
    end
  end
end
