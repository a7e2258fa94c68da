# frozen_string_literal: true

module HeapSample
  # What a row of a profile is grouped by.  Equal keys are one object.
  class Keys
    NO_STACK = Place.new("", 0, Stacks::NO_STACK).freeze
    # The function and library of what is no malloc'd memory,
    SLOTS = "(slots)"
    # and of what is and has no native frame.
    NO_FUNCTION = "(unknown)"

    # What the VM and the sampler allocate for themselves: no leak of the program.
    # And what a heap dump does not know the line of.
    MACHINERY = ["(GC)", "(YJIT)", "(heap sampler)", "(not traced)"].freeze

    # Is a group's key memory of the VM or of the sampler?
    def self.machinery?(key)
      MACHINERY.include?(key.is_a?(Place) ? key.label : key)
    end

    # Raises ArgumentError unless +by+ is one that Groups.by takes.
    def initialize(profile, by)
      @profile = profile
      @stacks = profile.stacks
      @by = Groups.by(by)
      @label = Labels.named(by)
      @labels = {}
      @column = Columns::GROUPS[by]&.index unless by == :library
      @names = {}
      @places = []
      @same = {}
      @functions = {}
      @gems = {}
    end

    # A Place, or the name of a class, type, gem, function or library, or the value of a label.
    def of(row)
      return name(row[@column]) if @column
      return label(row[Columns::LABEL_SET]) if @label

      case @by
      when :function then row[Columns::MALLOC] ? function(row) : SLOTS
      when :library then row[Columns::MALLOC] ? name(row[Columns::LIBRARY]) : SLOTS
      when :gem then gem(row)
      when :app then place(@stacks.application_site(row[Columns::STACK]) || @stacks.site(row[Columns::STACK]))
      else place(@stacks.site(row[Columns::STACK]))
      end
    end

    private

    def name(reference)
      @names[reference] ||= -@profile.text(reference)
    end

    def label(reference)
      @labels[reference] ||= Labels.value(@profile.text(reference), @label).then { |value| @names[value] ||= -value }
    end

    # The function of the library that called malloc which wanted the memory:
    # "xmlNewNode (libxml2.so.2)".
    def function(row)
      @functions[[row[Columns::STACK], row[Columns::LIBRARY]]] ||= begin
        frames = native_frames(row)
        library = name(row[Columns::LIBRARY])
        own = frames.drop_while { |frame| frame.library != library }.take_while { |frame| frame.library == library }
        own = frames if own.empty?
        # What Ruby's helpers allocate is for the code that called them; another library has a reason to allocate.
        own += frames if AccountGrowth::RUBY_FILE.match?(library)
        frame = own.find { |candidate| !candidate.hands_on? } || own.first
        text = frame ? frame.to_s : NO_FUNCTION
        @names[text] ||= -text
      end
    end

    # Above the nearest Ruby frame, leaf first.
    def native_frames(row) = native_ids(row).map { |id| @stacks.frame(id) }

    def native_ids(row)
      ids = []
      @stacks.each_frame_id(row[Columns::STACK]) do |id|
        break unless @stacks.native?(id)

        ids << id
      end
      ids
    end

    # The gem whose code wanted the memory: the gem of the line, or of the shared library that the line led
    # to, for memory of malloc or for an object.  A library of the system that no gem's called is itself: "(libxml2.so.2)".
    def gem(row)
      @gems[row[Columns::STACK]] ||= begin
        site = @stacks.site(row[Columns::STACK])
        name = site ? @stacks.owner(site) : Stacks::NO_STACK
        name = gem_of_library(row) || name unless Keys.machinery?(name)
        @same[name] ||= name
      end
    end

    def gem_of_library(row)
      return extensions.owner(row[Columns::STACK]) unless row[Columns::MALLOC]

      owners = native_ids(row).map { |id| @stacks.owner(id) } - [GemName::RUBY]
      owners.find { |owner| !owner.start_with?("(") || owner == GemName::APP } || owners.first
    end

    def extensions = @extensions ||= Extensions.new(@profile)

    def place(site)
      return NO_STACK unless site

      @places[site] ||= begin
        frame = @stacks.frame(site)
        line = frame.lineno if %i[line app].include?(@by)
        label = frame.qualified_label unless @by == :file
        place = Place.new(frame.full_path, line, label)
        @same[place] ||= place
      end
    end
  end
end
