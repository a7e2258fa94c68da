# frozen_string_literal: true

module HeapSample
  # The rows of a profile, grouped.
  class Groups
    include Enumerable

    # What rows can be grouped by: by code, and by the columns that allow it.  :line is where the memory was allocated; :app the
    # nearest line above it that is the application's, not a gem's or Ruby's own, or
    # where there is none the line itself.
    BY = [:line, :app, :method, :file, *Columns::GROUPS.keys, :gem, :function].freeze
    # And by the values of a label: :"label:controller".
    LABEL = "label:NAME"
    # Which rows.
    MEMORY = %i[both slots malloc].freeze

    # The rows of all groups together: a Group whose key is nil.
    attr_reader :total

    # call-seq:
    #   Groups.by(by) -> Symbol
    #
    # One of BY, or "label:NAME"; raises ArgumentError unless it is.
    def self.by(by)
      return by if BY.include?(by)
      return by.to_sym if Labels.named(by)

      raise ArgumentError, "cannot group by #{by.inspect}: by must be one of #{BY.map(&:inspect).join(", ")}, or #{LABEL.inspect}"
    end

    # call-seq:
    #   Groups.of(profile, by, kind = :both) -> groups
    #
    # Sums the rows of +profile+ by one of BY, or by a label; +kind+ is one of MEMORY.
    def self.of(profile, by, kind = :both)
      keys = Keys.new(profile, by)
      groups = {}.compare_by_identity
      wanted = wanted(kind)
      major_gc = profile.info.last_major_gc || (0 if profile.info.gc_major == 0)
      profile.table.each do |row|
        next unless wanted.nil? || row[Columns::MALLOC] == wanted

        key = keys.of(row)
        (groups[key] ||= Group.new(key, major_gc: major_gc)).add(row)
      end
      new(groups.values)
    end

    # What Columns::MALLOC is in the rows of one of MEMORY; nil: either.
    def self.wanted(kind) # :nodoc:
      return {both: nil, slots: false, malloc: true}[kind] if MEMORY.include?(kind)

      raise ArgumentError, "kind must be one of #{MEMORY.map(&:inspect).join(", ")}, not #{kind.inspect}"
    end

    def initialize(groups)
      @groups = groups
      @total = groups.each_with_object(Group.new(nil)) { |group, total| total.merge(group) }
    end

    def each(&block)
      @groups.each(&block)
    end

    # How many groups there are.
    def size
      @groups.size
    end

    # call-seq:
    #   largest(estimate, count) -> Array of HeapSample::Group
    #
    # The largest groups by the bytes of one estimate: :inuse, :young, :alloc
    # or :freed; those that have none of it are left out.
    def largest(estimate, count)
      ranked(count) { |group| group.public_send(estimate).then { |part| part.zero? ? 0 : part.space } }
    end

    # call-seq:
    #   ranked(count) { |group| number } -> Array of HeapSample::Group
    #
    # The first +count+ groups by what the block makes of them; those that it gives
    # 0 are left out.
    def ranked(count)
      @groups.each_with_index.filter_map { |group, index| yield(group).then { |number| [-number, index, group] if number > 0 } }
             .min(count).map(&:last)
    end
  end
end
