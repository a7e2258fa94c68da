# frozen_string_literal: true

module HeapSample
  # The report of a profile: what was sampled, live memory by line and by class,
  # young memory, allocation, and a sentence with the largest line.
  #
  # Figures are estimates of bytes and objects, of heap slots and malloc memory
  # together; intervals are at 95%, ages and lifetimes are in GCs.
  class Report
    include Analysis

    CLASSES = 10
    CHURN = 5

    TEXT = ReportText

    attr_reader :profile, :by, :kind
    # How many rows a table has at most.
    attr_reader :rows
    # The main table, that by class and what was allocated: HeapSample::Top and Churn.
    attr_reader :top, :by_class, :churn
    # All rows: a HeapSample::Group.
    attr_reader :total

    # call-seq:
    #   Report.new(profile, by: :line, kind: :both, top: 20)
    #
    # +by+: :line, :app, :method, :file, :class, :type, :gem, :function or :library;
    # +kind+: :slots, :malloc or :both; +top+: rows in a table.  Raises ArgumentError if one of
    # them makes no sense.
    def initialize(profile, by: :line, kind: :both, top: Top::ROWS)
      @kind = kind
      @profile = profile
      @by = by
      @rows = top
      @top = Top.new(profile, by: by, kind: kind, top: top)
      @by_class = Top.new(profile, by: :class, kind: kind, top: [top, CLASSES].min)
      @churn = Churn.new(profile, by: by, kind: kind, top: top)
      @total = profile.groups(by, kind: kind).total
    end

    # :inuse or, before the first mark, :young.
    def part = top.value.part

    # Are there tables by class, and by native function?
    def classes? = by != :class && kind != :malloc && !total.public_send(part).zero?
    # Has it a table of malloc by function?
    def functions? = profile.malloc? && kind != :slots && by != :function

    # Are there strings with the same contents, as far as a heap dump shows?
    def duplicates? = !profile.dump.nil? && profile.filtered.nil? && kind != :malloc

    # JSON-ready: numbers not rounded, intervals as [low, high].  With +stacks+, rows have their stacks.
    def to_h(stacks: false)
      {
        header: profile.info.to_h, filter: profile.filtered&.names, top: top.to_h(stacks: stacks),
        classes: (by_class.to_h(stacks: stacks) if classes?), malloc_functions: (malloc_functions.to_h(layout) if functions?),
        young: total.young.to_h, before_start_bytes: before_start_bytes, churn: churn.to_h(stacks: stacks), stuck: (stuck.map(&:to_h) if profile.holders),
        duplicates: (profile.dump.duplicates.first(rows).map(&:to_h) if duplicates?), **account_to_h
      }.compact
    end

    # Live slots that are not in the profile are from before its start. The figure is too
    # high by garbage that no sweep has freed yet.  Of a part of
    # the profile it is not known.
    def before_start_bytes
      live, at_start = profile.info.live_bytes, profile.info.live_bytes_at_start
      return unless live && at_start && !profile.filtered

      (live - total.slots_space - total.young.space).clamp(0, at_start)
    end

    # What the process grows in since sampling started: an AccountGrowth; nil if there are no two accounts, or
    # this is a part of the profile.
    def account_growth
      now, start = profile.info.account, profile.info.account_at_start
      return unless now && start && !profile.filtered

      AccountGrowth.new(now, start, malloc: AccountGrowth.malloc_of(profile))
    end

    # Which lines hold free memory of heap pages: HeapPages.
    def heap_pages = HeapPages.new(profile, rows) # :nodoc:
    # Which native functions called malloc: MallocFunctions.
    def malloc_functions = MallocFunctions.new(profile, rows) # :nodoc:

    # The HeapSample::Top::Entry of the largest row that is code of the program; else the largest one, nil if there is none.
    def largest = top.find { |entry| !Keys.machinery?(entry.key) } || top.first

    # Threads that can never wake, if a walk looked for them: Array of StuckThreads::Place.
    def stuck = profile.info.walk&.stuck || []

    private

    def account_to_h
      now = profile.info.account
      return {} if now.nil? || profile.filtered

      {heap_pages: (heap_pages.to_h unless kind == :malloc), account: now.to_h, account_at_start: profile.info.account_at_start&.to_h,
       alive: profile.info.alive&.to_h, account_growth: account_growth&.to_s}
    end
  end
end
