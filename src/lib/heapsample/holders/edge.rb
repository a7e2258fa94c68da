# frozen_string_literal: true

module HeapSample
  # One reference on the way from a root of the heap to an object: `Report::BADGES`, `@label of Badge`,
  # `[] of Array`, `local repo of block in Badge#initialize`.
  class Edge
    # What kinds there are, as files call them.  One that is not known is shown as it is.
    ROOT = "root"
    # References that a collection has to what is in it.
    ENTRIES = %w[element key value default].freeze
    # References within the VM: from a block to its variables, from a string to one whose bytes it shares.
    PLUMBING = %w[environment shared].freeze
    # From a Ractor to its threads, and from these to the fiber that runs.
    RUNNING = ["thread of Ractor", "fiber of Thread"].freeze
    # References that loaded code consists of.
    CODE = %w[class superclass method code cache].freeze
    # References that the program wrote: one each of the first kinds, and one per object of the others.
    SINGLE = %w[constant cvar gvar thread_local fiber_local address].freeze
    WRITTEN = [*SINGLE, "ivar", "member", "local"].freeze
    # Collections of anything. They do not show what retains memory: the reader wants to know whose collections they are.
    GENERIC = /\A(?:Array|Hash|Set|SortedSet|Thread::(?:Sized)?Queue|Concurrent::(?:Array|Hash|Map|Set)|\(hidden T_(?:ARRAY|HASH)\))\z/
    # Caches whose limit is in no instance variable of their own.
    BOUNDED = %w[Moneta::Adapters::LRUHash].freeze
    # "@next of Node ×812": so many in a row.
    REPEATS = / ×([\d,]+)\z/
    OWNER = / of (.+)\z/m
    CLASS_VARIABLE = /\A(@\S+) of (?:class|module) /
    VARIABLE_OF_CLASS = /\A@\S+ of ((?:class|module) .+)\z/m
    METHOD_OF_CLASS = /\Amethod \S+ of ((?:singleton )?(?:class|module) .+)\z/m
    # So many edges of a family are shown as one.
    FAMILY_LEAST = 10
    # To a TracePoint that is enabled, for all code or for some.
    ENABLED = /\Aenabled TracePoint of /

    # The name, without the number of repetitions; and the kind.
    attr_reader :name, :kind
    # Of code: the file and line; "" and 0 if there is none.
    attr_reader :path, :line
    # How many objects are linked by it to each other: a list, or a tree.
    attr_reader :repeats
    # How many entries the container has to which the reference leads: an Array, Hash, Set, Thread::Queue, ObjectSpace::WeakMap or
    # WeakKeyMap; nil if it leads to none, or to several.
    attr_reader :entries

    def initialize(name, kind, path = "", line = 0, repeats: nil, entries: nil, bound: nil)
      @name = TemplateName.in(name.sub(REPEATS, ""), path)
      @repeats = repeats || name[REPEATS, 1]&.delete(",")&.to_i || 1
      @kind = kind
      @path = path
      @line = line
      @entries = entries
      @bound = bound
    end

    # The same reference in several processes, whose containers differ.
    def of_several = entries ? Edge.new(name, kind, path, line, repeats: repeats) : self

    # The name of what limits that container: "@max_size of LruRedux::Cache", or the class of a cache that has its limit elsewhere; nil
    # if the heap walk found none.
    def bound = @bound || (owner if entries && BOUNDED.include?(owner))

    # Is it a root's category, where a way begins?
    def root? = kind == ROOT
    # Is it from a collection to what is in it, or within a collection of anything?
    def entry? = ENTRIES.include?(kind) || generic?
    # Does it not show what retains memory?  The short form passes through such an edge.
    def passed_through? = PLUMBING.include?(kind) || generic? || RUNNING.include?(name)
    # Is it the constant of a class or module, whose variable the edge +other+ is?
    def names_owner_of?(other) = kind == "constant" && !other.nil? && ["class #{name}", "module #{name}"].include?(other.owner)

    # Is it a variable of a method or a block that runs?
    def local? = kind == "local"
    # Is it of loaded code?
    def code? = CODE.include?(kind)
    # Did the program write it?
    def written? = WRITTEN.include?(kind) || ENABLED.match?(name)

    # Has a collection of anything it?
    def generic? = !root? && GENERIC.match?(owner.to_s)

    # The class of the object that has it; nil where its name has none.
    def owner = (name[OWNER, 1] unless root?)

    # What it has in common with edges that differ from it in a class alone, or in the name of a method: `@columns of class User` and
    # `@columns of class Order`; `User::CACHE` and `Order::CACHE`; methods of one class.  A String with %s for how many there are;
    # nil of other edges.
    def family
      case kind
      when "ivar", "cvar" then name[CLASS_VARIABLE, 1]&.then { |variable| "#{variable.gsub("%", "%%")} of %s classes" }
      when "constant" then name[/::([^:]+)\z/, 1]&.then { |constant| "#{constant.gsub("%", "%%")} of %s modules" }
      when "block" then "block of %s methods" if name.start_with?("block of method ")
      when "method" then name[METHOD_OF_CLASS, 1]&.then { |owner| "%s methods of #{owner.gsub("%", "%%")}" }
      end
    end

    # What it has in common with other variables of one class: `@@result_7 of class Report` and `@@result_8 of class Report`.  As
    # #family.
    def siblings
      case kind
      when "cvar", "ivar" then name[VARIABLE_OF_CLASS, 1]&.then { |owner| "%s variables of #{owner.gsub("%", "%%")}" }
      when "constant" then name[/\A(.+)::[^:]+\z/m, 1]&.then { |owner| "%s constants of #{owner.gsub("%", "%%")}" }
      end
    end

    # The file and line; nil if there is none.
    def place
      Place.new(path, line, nil) unless path.empty?
    end

    # JSON-ready.
    def to_h
      {name: name, kind: kind, path: (path unless path.empty?), line: (line if line > 0), repeats: (repeats if repeats > 1), entries: entries,
       bound: bound}.compact
    end

    # As a file has it.
    def to_s = repeats > 1 ? "#{name} ×#{repeats}" : name

    def inspect
      "#<#{self.class} #{kind} #{self}>"
    end

    def ==(other)
      other.is_a?(Edge) && key == other.key && repeats == other.repeats
    end
    alias eql? ==

    def hash = key.hash

    # What distinguishes edges, however often they are repeated, and however many entries there are.
    def key = (@key ||= [kind, name, path, line])
  end
end
