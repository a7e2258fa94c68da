# frozen_string_literal: true

module HeapSample
  # The part of a report that says which native functions malloc'd what is in
  # use, and for which line.
  class MallocSection
    FUNCTIONS = 5

    def initialize(profile, layout, top)
      @profile = profile
      @layout = layout
      @top = [top, FUNCTIONS].min
    end

    # Lines of text; none if nothing of malloc is in use.
    def lines
      groups = @profile.groups(:function, kind: :malloc)
      return [] if groups.total.inuse.zero?

      largest = groups.largest(:inuse, @top)
      columns = [["", :right], ["bytes", :right], ["95% interval", :right], ["function", :left], ["line", :left]]
      rows = largest.each_with_index.map { |group, index| cells(group, index) }
      more = groups.count { |group| !group.inuse.zero? } - rows.size
      ["malloc by function:", *@layout.table(columns, rows), *("and #{@layout.count(more)} more" if more > 0)]
    end

    private

    FUNCTION_LENGTH = 48

    def cells(group, index)
      name = group.key
      name = "#{name[0, FUNCTION_LENGTH - 1]}…" if name.length > FUNCTION_LENGTH
      weak = Report::WEAK_MARK if group.inuse.weak?
      ["#{weak}#{index + 1}", @layout.bytes(group.inuse.space), @layout.interval(group.inuse), name, line_of(group.key)]
    end

    # The line that most of a function's memory is for.
    def line_of(function)
      lines_of_functions[function].max_by { |_, space| space }.first
    end

    # Function => line => bytes.
    def lines_of_functions
      @lines_of_functions ||= begin
        functions = Keys.new(@profile, :function)
        lines = Keys.new(@profile, :line)
        sums = Hash.new { |known, function| known[function] = Hash.new(0.0).compare_by_identity }
        @profile.table.each do |row|
          sums[functions.of(row)][lines.of(row)] += row[Columns::INUSE + 2] if row[Columns::MALLOC]
        end
        sums
      end
    end
  end
end
