# frozen_string_literal: true

module HeapSample
  # A difference of two profiles, summed: what grew, what shrank, what changed no more than sampling explains.
  class GrowthReport
    include Analysis

    # Rows of the tables other than the table of growth.
    OTHERS = 5

    CHANGES = %i[grown shrunk noise].freeze
    TEXT = GrowthReportText

    # The HeapSample::Growth; what its rows are summed by, and the kind of memory.
    attr_reader :growth, :by, :kind
    # All rows summed: a HeapSample::GrowthGroup.
    attr_reader :total
    # Each of CHANGES => HeapSample::GrowthGroups, the largest first.
    attr_reader :tables

    # The arguments of Report.new.
    def initialize(growth, by: :line, kind: :both, top: Top::ROWS)
      Layout.check(top: top)
      @kind = kind
      @growth = growth
      @by = by
      @top = top
      groups = growth.groups(by, kind: kind)
      @total = groups.each_with_object(GrowthGroup.new(nil)) { |group, sum| sum.merge(group) }
      @tables = sorted(groups)
    end

    # JSON-ready: numbers not rounded, intervals as [low, high]. +change+ of a row is "grown", "shrunk" or "noise". With
    # +stacks+, rows have their stacks.
    def to_h(stacks: false)
      {
        by: @by, kind: @kind, filter: @growth.later.filtered&.names, seconds: @growth.seconds, gcs: @growth.gcs,
        same_run: @growth.same_run?, matched: @growth.matched?, malloc_left_out: @growth.malloc_left_out?,
        total: net_to_h(@total), rows_in_all: @tables.transform_values(&:size),
        rows: CHANGES.flat_map { |change| shown(change).map { |group| group_to_h(group, change, stacks) } },
        **account_to_h, **alive_to_h
      }.compact
    end

    # The groups of a change that are shown. Where nothing grew, what is within noise is all there is to see.
    def shown(change)
      all = change == :grown || change == :noise && @tables[:grown].empty? && @tables[:shrunk].empty?
      @tables.fetch(change).first(all ? @top : [OTHERS, @top].min)
    end

    # The application's line that led to most of a group, where it is not of that line itself; nil if there is none.
    def application(group) # :nodoc:
      came_by.application(group.key) if Top::APPLICATION.include?(@by)
    end

    # What retains most of what a group gained: a NearestHolder::Answer; nil if the later profile has no heap
    # walk.
    def holder(group)
      return unless (nearest = growth.later.nearest_holder)

      keys = Keys.new(growth.later, @by)
      @later_rows ||= growth.later.table.group_by { |row| keys.of(row) }
      @grown ||= Grown.new(growth)
      nearest.of_rows(@later_rows.fetch(group.key, [])) { |row, estimate| @grown.part(row, estimate) }
    end

    # The GrowthGroup that grew most and is code of the program; else the group that grew most; nil if nothing grew.
    def largest = tables[:grown].find { |group| !Keys.machinery?(group.key) } || tables[:grown].first

    # Of which there are more: an Array of :threads and :fibers.
    def more_alive
      later, earlier = growth.later.info.alive, growth.earlier.info.alive
      return [] if later.nil? || earlier.nil? || growth.later.filtered

      Alive::KINDS.keys.select { |kind| later[kind].count > earlier[kind].count }
    end

    # By which stacks the changed memory was allocated, in all groups that are shown: a HeapSample::CameBy.
    def came_by # :nodoc:
      @came_by ||= growth.rows.each_with_object(CameBy.new(@by, CHANGES.flat_map { |change| shown(change).map(&:key) })) do |row, came_by|
        came_by.add(row.row.profile, row.row.columns, row.space) if @kind == :both || row.malloc? == (@kind == :malloc)
      end
    end

    # What the process grew in: an AccountGrowth; nil if the profiles have no account, or are filtered.
    def account_growth
      return unless account?

      AccountGrowth.new(@growth.later.info.account, @growth.earlier.info.account, malloc: AccountGrowth.malloc_growth(@growth), since: SINCE)
    end

    SINCE = "between the two profiles"

    private

    def directory = @growth&.later&.info&.directory

    # Change => groups, the largest first.
    def sorted(groups)
      changes = @growth.changes(groups)
      all = groups.reject { |group| group.space.abs < 1 && group.gained.space < 1 }
                  .sort_by.with_index { |group, index| [-group.space.abs, index] }.group_by { |group| changes[group] }
      CHANGES.to_h { |change| [change, all[change] || []] }
    end

    def account?
      @growth.later.info.account && @growth.earlier.info.account && !@growth.later.filtered
    end

    def account_to_h
      return {} unless account?

      {account: @growth.later.info.account.to_h, account_earlier: @growth.earlier.info.account.to_h, account_growth: account_growth.to_s}
    end

    def alive_to_h
      return {} if @growth.later.filtered

      {alive: @growth.later.info.alive&.to_h, alive_earlier: @growth.earlier.info.alive&.to_h}
    end

    def net_to_h(net)
      limits = net.samples.zero? ? nil : net.space_interval
      {**net.to_h, bytes_interval: limits, awaits_major_gc_bytes: net.awaiting}
    end

    def group_to_h(group, change, stacks)
      {**Analysis.key(group.key, layout), change: change, **net_to_h(group),
       classes: group.classes.first(BRIEF).map { |name, bytes| {class: name, bytes: bytes} },
       **(change == :grown ? holder(group)&.then { |answer| {holder: answer.to_h} } || {} : {}),
       **(application(group)&.then { |place| {application: Analysis.key(place, layout)} } || {}), **(stacks ? {stack: came_by.frames(group.key).map(&:to_s)} : {})}
    end
  end
end
