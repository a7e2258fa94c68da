# frozen_string_literal: true

module HeapSample
  # The part of a report that shows which native functions called malloc for live memory, and for which line.
  class MallocFunctions
    include Enumerable

    ROWS = 5

    # +top+: rows at most.
    def initialize(profile, top = ROWS)
      @profile = profile
      @groups = profile.groups(:function, kind: :malloc)
      @largest = @groups.largest(:inuse, [top, ROWS].min)
    end

    # Yields the HeapSample::Group of each function that is shown, the largest first.
    def each(&block) = @largest.each(&block)

    # How many functions there are in all.
    def count_all = @groups.count { |group| !group.inuse.zero? }

    # The line that most of a function's memory is for.
    def line_of(function) = lines_of_functions[function].max_by { |_, space| space }.first

    # The stacks that called the functions: a HeapSample::CameBy.
    def came_by = CameBy.of(@profile, :function, map(&:key), kind: :malloc) { |row| row[Columns::INUSE_SPACE] }

    # JSON-ready rows.  +names+: the Layout of the names of lines.
    def to_h(names)
      map { |group| {function: group.key, line: Analysis.key(line_of(group.key), names), **group.inuse.to_h} }
    end

    private

    # Function => line => bytes.
    def lines_of_functions
      @lines_of_functions ||= begin
        functions = Keys.new(@profile, :function)
        lines = Keys.new(@profile, :line)
        sums = Hash.new { |known, function| known[function] = Hash.new(0.0).compare_by_identity }
        @profile.table.each do |row|
          sums[functions.of(row)][lines.of(row)] += row[Columns::INUSE_SPACE] if row[Columns::MALLOC]
        end
        sums
      end
    end
  end
end
