# frozen_string_literal: true

module HeapSample
  # Rows that share a line, method, file, class or type, summed.
  class Group
    # A Place, or the name of a class or type.
    attr_reader :key
    attr_reader :inuse, :young, :alloc, :dead

    def initialize(key)
      @key = key
      @inuse = Estimate.new
      @young = Estimate.new
      @alloc = Estimate.new
      @dead = Estimate.new
      @dead_gcs = 0.0
      @births = 0.0
      @born = 0.0
      @live_by_class = Hash.new(0.0)
    end

    def add(row)
      slot_size = row[Columns::SLOT_SIZE]
      add_inuse(row, slot_size) if row[Columns::INUSE + 1] > 0
      if row[Columns::YOUNG + 1] > 0
        @young.add_columns(row, Columns::YOUNG, slot_size)
        @live_by_class[row[Columns::CLASS]] += row[Columns::YOUNG + 2]
      end
      @alloc.add_columns(row, Columns::ALLOC, slot_size) if row[Columns::ALLOC + 1] > 0
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
      @dead_gcs += group.dead_gcs
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

    # Share of what was allocated that was found dead, by bytes; nil likewise.
    def dead_share
      [@dead.space / @alloc.space.to_f, 1.0].min if @alloc.space > 0
    end

    # Live bytes (in use and young) by class reference, largest first.
    def classes
      @live_by_class.sort_by { |reference, space| [-space, reference.to_s] }
    end

    protected

    attr_reader :dead_gcs, :births, :born, :live_by_class

    private

    def add_inuse(row, slot_size)
      @inuse.add_columns(row, Columns::INUSE, slot_size)
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

    KINDS = %i[line method file class type].freeze

    # The rows of all groups together: a Group whose key is nil.
    attr_reader :total

    # call-seq:
    #   Groups.of(profile, by) -> groups
    #
    # Sums the rows of +profile+ by one of KINDS.
    def self.of(profile, by)
      keys = Keys.new(profile, by)
      groups = {}.compare_by_identity
      profile.table.each do |row|
        key = keys.of(row)
        (groups[key] ||= Group.new(key)).add(row)
      end
      new(groups.values)
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
      @groups.reject { |group| group.public_send(estimate).zero? }
             .each_with_index
             .min_by(count) { |group, index| [-group.public_send(estimate).space, index] }
             .map(&:first)
    end
  end

  # What a row of a profile is grouped by.  Equal keys are one object.
  class Keys
    NO_STACK = Place.new("", 0, Stacks::NO_STACK).freeze

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
    end

    # A Place, or the name of a class or type.
    def of(row)
      case @by
      when :class then name(row[Columns::CLASS])
      when :type then name(row[Columns::TYPE])
      else place(@stacks.site(row[Columns::STACK]))
      end
    end

    private

    def name(reference)
      @names[reference] ||= -@profile.text(reference)
    end

    def place(site)
      return NO_STACK unless site

      @places[site] ||= begin
        frame = @stacks.frame(site)
        line = frame.lineno if @by == :line
        label = frame.qualified_label unless @by == :file
        place = Place.new(frame.full_path, line, label)
        @same[place] ||= place
      end
    end
  end
end
