# frozen_string_literal: true

module HeapSample
  # The part of a report that says which native functions malloc'd what is in
  # use, and for which line.
  class MallocSection
    FUNCTIONS = 5
    FUNCTION_LENGTH = 48
    # Characters of a function's name for which all other columns give way.
    NAME_LEAST = 16

    def initialize(profile, layout, top)
      @profile = profile
      @layout = layout
      @groups = profile.groups(:function, kind: :malloc)
      @largest = @groups.largest(:inuse, [top, FUNCTIONS].min)
    end

    # Lines of text; none if nothing of malloc is in use.
    def lines
      return [] if @largest.empty?

      resident = @largest.any? { |group| group.inuse.untouched? }
      columns = [["", :right], ["bytes", :right], ["95% interval", :right, 2], *([["resident", :right, 3]] if resident), ["function", :left, 9, NAME_LEAST], ["line", :left]]
      rows = @largest.each_with_index.map { |group, index| cells(group, index, resident) }
      [*@layout.title("malloc by function:"),
       *@layout.table(columns, rows, @largest.map { |group| :weak if group.inuse.weak? }),
       *@layout.more(@groups.count { |group| !group.inuse.zero? } - rows.size), *stacks]
    end

    # JSON-ready rows.
    def to_h
      @largest.map { |group| {function: group.key, line: Analysis.key(line_of(group.key), @layout), **group.inuse.to_h} }
    end

    private

    def stacks
      return [] unless @layout.stacks?

      came_by = CameBy.of(@profile, :function, @largest.map(&:key), kind: :malloc) { |row| row[Columns::INUSE_SPACE] }
      StackText.section(@largest.each_with_index.map { |group, index| [index + 1, came_by.frames(group.key)] }, @layout)
    end

    def cells(group, index, resident)
      [@layout.rank(index + 1, group.inuse.weak?), @layout.size(group.inuse), @layout.interval(group.inuse),
       *(@layout.size(group.inuse, group.inuse.resident.space) if resident), @layout.name(group.key, FUNCTION_LENGTH), line_of(group.key)]
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
          sums[functions.of(row)][lines.of(row)] += row[Columns::INUSE_SPACE] if row[Columns::MALLOC]
        end
        sums
      end
    end
  end
end
