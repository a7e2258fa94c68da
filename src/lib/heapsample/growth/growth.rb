# frozen_string_literal: true

module HeapSample
  # What grew between two profiles, in bytes of live heap slots and of malloc memory.
  #
  #   growth = later - earlier
  #   puts growth.report
  #   growth.groups(:class).max_by(&:space).key   #=> "String"
  class Growth
    include Viewable

    attr_reader :later, :earlier
    # Array of GrowthRow.
    attr_reader :rows

    def initialize(later, earlier, rows, matched:, malloc_left_out: false)
      @malloc_left_out = malloc_left_out
      @later = later
      @earlier = earlier
      @rows = rows
      @matched = matched
    end

    # Were the samples of both compared one row by one? If not, variances of both profiles add, and gained and lost are
    # the two totals.
    def matched?
      @matched
    end

    # Has one profile rows of malloc, and the other was taken while that was not sampled? Then the rows are of slots
    # alone.
    def malloc_left_out?
      @malloc_left_out
    end

    # Are both profiles of one session of one process?
    def same_run?
      later.info.same_run?(earlier.info)
    end

    # From which deploy or host to which other one: {deploy: ["v1", "v2"]}; without what did not change, or is not
    # known.
    def moved
      %i[deploy host].to_h { |name| [name, [earlier, later].map { |profile| profile.info.public_send(name) }] }
                     .select { |_, (before, after)| before && after && before != after }
    end

    # Seconds between the two, nil if not known.
    def seconds
      later.info.taken - earlier.info.taken if later.info.taken && earlier.info.taken
    end

    # GCs between the two, nil if not known or not of one process.
    def gcs
      later.info.gc_count - earlier.info.gc_count if same_run? && later.info.gc_count && earlier.info.gc_count
    end

    # call-seq:
    #   groups(by, kind: :both) -> Array of GrowthGroup
    #
    # The rows summed +by+ :line, :app, :method, :file, :class, :type, :gem, :function or :library; +kind+: :slots,
    # :malloc, or :both.
    def groups(by, kind: :both)
      wanted = Groups.wanted(kind)
      keys = [later, earlier].to_h { |profile| [profile, Keys.new(profile, by)] }.compare_by_identity
      rows.each_with_object({}) do |row, groups|
        next unless wanted.nil? || row.malloc? == wanted

        key = keys[row.row.profile].of(row.row.columns)
        (groups[key] ||= GrowthGroup.new(key)).add(row)
      end.values
    end

    # call-seq:
    #   changes(groups) -> Hash
    #
    # Which of +groups+ (see #groups) changed: a Hash from each to :grown, :shrunk or :noise, which is no more than
    # sampling explains. As many are tested at once, of those called grown or shrunk 5% may be noise, on average; see
    # Statistics.discoveries. Groups with too few samples are noise, and do not count as tested.
    def changes(groups)
      tested = groups.select { |group| group.samples >= ENOUGH || group.exact? }
      found = tested.zip(Statistics.discoveries(tested.map(&:p_value))).to_h.compare_by_identity
      groups.to_h { |group| [group, found[group] ? (group.space > 0 ? :grown : :shrunk) : :noise] }.compare_by_identity
    end

    # So many samples, all on one side, are the fewest whose interval excludes 0.
    ENOUGH = 5
    private_constant :ENOUGH

    # The sum of all rows, a GrowthGroup.
    def total
      rows.each_with_object(GrowthGroup.new(nil)) { |row, total| total.add(row) }
    end

    # call-seq:
    #   report(by: :line, kind: :both, top: 20) -> HeapSample::GrowthReport
    #
    # What grew and what shrank; see HeapSample::GrowthReport.
    def report(**options)
      GrowthReport.new(self, **options)
    end

    # What grew: the first rows of #report.
    def pretty_print(printer) # :nodoc:
      report.pretty_print(printer)
    end

    # "+26.1 MiB (+20.4 – +31.8 MiB) in 1,234 objects over 5 min 0 s, 3 GCs".
    def to_s
      layout = Layout.new
      span = [(layout.duration(seconds) if seconds && seconds >= 0), (gcs && "#{gcs} GC#{"s" unless gcs == 1}")].compact
      "#{total}#{" over #{span.join(", ")}" unless span.empty?}"
    end

    def inspect
      "#<#{self.class} #{rows.size} rows, #{Layout.new.bytes(total.space, sign: true)}>"
    end
  end
end
