# frozen_string_literal: true

module HeapSample
  module Dump
    # What a reference is called, by the classes and types of the two objects: a dump has no names of variables.  The words are those
    # of a heap walk (heap_walk/names.c).
    #
    # What a constant or a variable of a class refers to is distinguished by the line that allocated it, or else by its address.
    class EdgeNames
      # By the type of the object that refers: name, with "%s" for its class, and kind.
      BY_TYPE = Ractor.make_shareable({
        "T_ARRAY" => ["[] of %s", "element"], "T_HASH" => ["{} of %s", "value"], "T_STRUCT" => ["member of %s", "member"],
        "T_SYMBOL" => ["name of %s", "data"], "T_DATA" => ["data of %s", "data"], "T_FILE" => ["data of %s", "data"], "T_IMEMO" => ["cache of %s", "cache"]
      })
      OTHER = ["variable of %s", "ivar"].freeze
      # By what the object that refers is called.
      BY_CLASS = Ractor.make_shareable({
        "Proc" => ["environment of Proc", "environment"], "Binding" => ["environment of Binding", "environment"], "Thread" => ["stack of Thread", "stack"],
        "Fiber" => ["stack of Fiber", "stack"], "(hidden T_DATA VM/pin_array_list)" => ["[] of (hidden T_ARRAY)", "element"], "Ractor" => ["thread of Ractor", "data"],
        "(imemo:iseq)" => ["literal of code", "code"], "(imemo:ment)" => ["code of a method", "code"], "(imemo:cref)" => ["class of code", "code"],
        "(imemo:env)" => ["local of a block", "local"], "(imemo:ast)" => ["literal of code", "code"]
      })
      # Classes and modules; of the references that these have: name and kind, by the type of the other object.
      MODULES = %w[T_CLASS T_MODULE T_ICLASS].freeze
      OF_MODULE = Ractor.make_shareable({"T_ICLASS" => ["modules included in %s", "superclass"], "T_IMEMO" => ["cache of %s", "cache"],
                   "T_CLASS" => ["superclass of %s", "superclass"], "T_MODULE" => ["superclass of %s", "superclass"]})
      METHOD = ["method of %s", "method"].freeze
      # What may share the memory of another object of its type.
      SHARING = %w[T_STRING T_ARRAY].freeze

      # The Edge of each number.
      attr_reader :edges

      # +rows+: a Rows; +names+: the class of each row; +modules+: the number of a class or module => its name; +objects+: an Objects.
      def initialize(graph, rows, names, modules, objects)
        @graph, @rows, @names, @modules, @objects = graph, rows, names, modules, objects
        @types = Array.new(names.size) { |row| rows.type_name(row) }
        known = {}
        @kinds = Array.new(names.size) { |row| known[[names[row], @types[row]]] ||= known.size }
        @numbers = {}
        @by_kind = {}
        @edges = []
      end

      # The number of the reference's name: equal for equal names.
      def number(from, to)
        from_row, to_row = @graph.rows[from], @graph.rows[to]
        to_class = @graph.class_of(from) == to
        return number_of(of_module(from, from_row, to, to_row)) if !to_class && MODULES.include?(@types[from_row])

        @by_kind[((@kinds[from_row] << 32 | @kinds[to_row]) << 1) | (to_class ? 1 : 0)] ||= number_of(between(from_row, to_row, to_class))
      end

      private

      def number_of(edge) = @numbers[edge.key] ||= (@edges << edge).size - 1

      def between(from_row, to_row, to_class)
        name, type = @names[from_row], @types[from_row]
        return Edge.new("class of #{name}", "class") if to_class
        return Edge.new("shared memory of #{name}", "shared") if SHARING.include?(type) && @types[to_row] == type && (type == "T_STRING" || @names[to_row].start_with?("(hidden"))

        edge(BY_CLASS[name] || BY_TYPE[type] || OTHER, name)
      end

      def of_module(from, from_row, to, to_row)
        owner = "#{@types[from_row] == "T_MODULE" ? "module" : "class"} #{@modules[from] || @names[from_row]}"
        return edge(METHOD, owner) if @names[to_row] == "(imemo:ment)"
        return Edge.new(@modules[to], "constant") if @modules[to] && nested?(from, to)

        known = OF_MODULE[@types[to_row]] and return edge(known, owner)
        path, line = @rows.place_of(to_row)
        Edge.new("constant or variable of #{owner} (#{@names[to_row]}#{" at 0x#{@objects.address(to).to_s(16)}" unless path})", "cvar", path || "", line || 0)
      end

      # Is the second a constant of the first, by their names?
      def nested?(from, to)
        path = @modules[to].rpartition("::").first
        path == @modules[from] || (path.empty? && @modules[from] == "Object")
      end

      def edge((text, kind), name) = Edge.new(text.sub("%s") { name }, kind)
    end
  end
end
