# frozen_string_literal: true

module HeapSample
  # MallocFunctions as text.
  class MallocFunctionsText
    FUNCTION_LENGTH = 48
    # Characters of a function's name for which all other columns give way.
    NAME_LEAST = 16

    def initialize(functions, layout)
      @functions = functions
      @layout = layout
    end

    # A title and a table; no lines if no memory of malloc is live.
    def lines
      return [] if @functions.none?

      resident = @functions.any? { |group| group.inuse.untouched? }
      columns = [["", :right], ["bytes", :right], ["95% interval", :right, 2], *([["resident", :right, 3]] if resident), ["function", :left, 9, NAME_LEAST], ["line", :left]]
      rows = @functions.each_with_index.map { |group, index| cells(group, index, resident) }
      [*@layout.title("malloc by function:"),
       *@layout.table(columns, rows, @functions.map { |group| :weak if group.inuse.weak? }),
       *@layout.more(@functions.count_all - rows.size), *stacks]
    end

    private

    def stacks
      return [] unless @layout.stacks?

      came_by = @functions.came_by
      StackText.section(@functions.each_with_index.map { |group, index| [index + 1, came_by.frames(group.key)] }, @layout)
    end

    def cells(group, index, resident)
      [@layout.rank(index + 1, group.inuse.weak?), @layout.size(group.inuse), @layout.interval(group.inuse),
       *(@layout.size(group.inuse, group.inuse.resident.space) if resident), @layout.name(group.key, FUNCTION_LENGTH), @functions.line_of(group.key)]
    end
  end
end
