# frozen_string_literal: true

module HeapSample
  # The stacks of a profile.  Rows name one by a handle, a small Integer; Frame
  # objects are made when asked for.  Two kinds differ in how they hold stacks:
  # NodeStacks as a prefix tree, ListStacks as a list each.
  class Stacks
    FRAME_FIELDS = 5
    MAPPING_FIELDS = 3
    NO_LABEL = "(unknown)"
    NO_STACK = "(no stack)"

    # Labels that only Ruby code has, so that a frame with the path and line of
    # its caller is not taken for a C method.
    RUBY_LABEL = /\A(?:block |rescue in |ensure in |<)/
    INTERNAL_PATH = /\A<internal:/

    # +fields+: label, path, absolute path (indexes into +texts+), line and
    # address, of one frame after the other.  +mappings+: start, end and offset
    # in the file of native code, likewise, by start.
    def initialize(texts, fields, mappings = [])
      @texts = texts
      @fields = fields
      @mappings = mappings.each_slice(MAPPING_FIELDS).to_a
      @frames = []
      @arrays = []
      @sites = []
      @application_sites = []
      @owners = []
      @natures = []
      @loading = []
      @roots = []
    end

    # Where the application is: absolute paths of folders.  See GemName.
    attr_reader :roots

    # Set once, before the stacks are asked.
    def roots=(roots)
      return if roots == @roots

      @roots = roots
      [@application_sites, @owners].each(&:clear)
    end

    # How many frames there are.
    def frame_count
      @fields.size / FRAME_FIELDS
    end

    def frame(id)
      @frames[id] ||= begin
        _, path, absolute_path, line, address = @fields[id * FRAME_FIELDS, FRAME_FIELDS]
        absolute = @texts[absolute_path]
        label = label_of(id)
        label = if label.empty? then address > 0 ? unnamed(@texts[path], address) : NO_LABEL
                else address > 0 ? CPlusPlus.readable(label) : label
                end
        Frame.new(label, @texts[path], absolute.empty? ? nil : absolute, line, address)
      end
    end

    # Label, path, absolute path (Strings, empty if there is none), line and
    # address of a frame, as they were handed over but for the names of templates: for who writes them again.
    def fields(id)
      _, path, absolute_path, line, address = @fields[id * FRAME_FIELDS, FRAME_FIELDS]
      [label_of(id), @texts[path], @texts[absolute_path], line, address]
    end

    # Start, end and offset in the file of the native code at +address+; nil if
    # that is not known.
    def mapping(address)
      found = @mappings.bsearch { |_, limit, _| limit > address }
      found if found && address >= found[0]
    end

    # Is a frame one of native code?
    def native?(id)
      @fields[id * FRAME_FIELDS + 4] > 0
    end

    def frames
      Array.new(frame_count) { |id| frame(id) }
    end

    # The stack as an Array of Frame, leaf first; the same one every time.
    def stack(handle)
      @arrays[handle] ||= frame_ids(handle).map { |id| frame(id) }.freeze
    end

    def frame_ids(handle)
      ids = []
      each_frame_id(handle) { |id| ids << id }
      ids
    end

    # The frame, by id, that a stack's memory is put down to: the nearest one of
    # Ruby code, nil if there is none.  A frame of a C method has the path and
    # line of its caller, so the search goes on while these stay the same; Ruby
    # code inside MRI (<internal:…>) counts as C, as in Ruby's own backtraces.
    # Code that loads code (Loading) is passed over: the line that asked for it counts.
    def site(handle)
      known = @sites[handle]
      return known || nil unless known.nil?

      @sites[handle] = find_site(handle) || false
      @sites[handle] || nil
    end

    # The same of the application's code (GemName): the nearest line of it that
    # called the gem or library which allocated; nil if there is none.  A line below the application's roots
    # is preferred to one that is merely not in a gem, and a file in bin that only starts a gem's program is none.
    def application_site(handle)
      known = @application_sites[handle]
      return known || nil unless known.nil?

      @application_sites[handle] = find_application_site(handle) || false
      @application_sites[handle] || nil
    end

    # Is a frame, by id, of the application's code?
    def application?(id) = !native?(id) && owner(id) == GemName::APP

    # Whose code a frame is: "rack-3.1.7", "(ruby)", "(app)", "(libxml2.so.2)"; what stands for something else than code
    # is itself: "(GC)".
    def owner(id)
      @owners[id] ||= begin
        frame = frame(id)
        path = frame.full_path
        if frame.native? then GemName.of_library(path, @roots)
        else path.empty? ? frame.label : GemName.of(path, @roots)
        end
      end
    end

    # What a frame is called that is folded with others.
    def folded_as(id) = frame(id).full_path.empty? ? GemName::RUBY : owner(id)

    # call-seq:
    #   trail(handle, native: false) -> binary String
    #
    # The stack from its site to its root, packed: tokens of one byte or more, of
    # which all but the last have their high bit set; see #token_frames.  Empty if
    # no Ruby code is on the stack.  With +native+ the native code that the site
    # called comes first, from the function on that wanted the memory.
    def trail(handle, native: false)
      site = site(handle)
      return EMPTY unless site || native

      list = packed(handle)
      from = 0
      inside, innermost = EMPTY, nil
      while from < list.bytesize
        token = list.byteslice(from, Stacks.token_stop(list, from) - from)
        ids = token_frames(token)
        break if ids.include?(site)

        from += token.bytesize
        next unless native && native?(ids.last)

        innermost, inside = innermost && !frame(innermost).hands_on? ? [innermost, inside + token] : [ids.last, token]
      end
      inside + (from.zero? ? list : list.byteslice(from, list.bytesize))
    end

    # Where the token that begins at +from+ ends.
    def self.token_stop(list, from)
      from += 1 while list.getbyte(from) >= 0x80
      from + 1
    end

    EMPTY = "".b.freeze

    # Have two frames, by id, the same path and line?  One of them that called the
    # other is the Ruby code at that line, the other a C method or a block of it.
    def same_line?(id, other)
      id *= FRAME_FIELDS
      other *= FRAME_FIELDS
      @fields[id + 3] == @fields[other + 3] && @fields[id + 1] == @fields[other + 1]
    end

    # A number, equal for equal stacks, also of another profile with the same
    # +interner+: a Hash, empty at first, from frames, and from a frame on top of a
    # stack, to numbers.
    def identity(handle, interner)
      unless @interner.equal?(interner)
        @interner = interner
        @numbers = []
        @identities = []
        identify
      end
      @identities[handle] ||= number_of(handle)
    end

    # The identity of the empty stack.
    NO_IDENTITY = -1

    private

    # With the name of a template in place of its method (TemplateName).
    def label_of(id)
      label, path, absolute_path, _, address = @fields[id * FRAME_FIELDS, FRAME_FIELDS]
      return @texts[label] if address > 0

      TemplateName.in(@texts[label], absolute_path.zero? || @texts[absolute_path].empty? ? @texts[path] : @texts[absolute_path])
    end

    def find_site(handle)
      nearest_site(handle) { |id| loading?(id) } || nearest_site(handle) { false }
    end

    # The block returns true for frames to pass over.
    def nearest_site(handle)
      found = nil
      each_frame_id(handle) do |id|
        next if native?(id) || found.nil? && yield(id)
        break unless found.nil? || nature(found) == :internal || same_line?(found, id)

        found = id
        break if nature(id) == :ruby
      end
      found
    end

    def find_application_site(handle)
      below_roots = application_frame(handle) { |id| below_root?(id) } unless @roots.empty?
      below_roots || application_frame(handle) { true }
    end

    # The nearest of the application's frames for which the block is true.
    def application_frame(handle)
      found = inner = nil
      each_frame_id(handle) do |id|
        next if native?(id)

        if found.nil? && !(application?(id) && yield(id) && !Loading.start?(frame(id), inner && frame(inner)))
          inner = id
          next
        end
        break unless found.nil? || same_line?(found, id)

        found = id
        break if nature(id) == :ruby
      end
      found
    end

    def below_root?(id) = !GemName.root_of(frame(id).full_path, @roots).nil?

    def loading?(id)
      known = @loading[id]
      known.nil? ? @loading[id] = Loading.path?(@texts[@fields[id * FRAME_FIELDS + 1]]) || Loading.path?(@texts[@fields[id * FRAME_FIELDS + 2]]) : known
    end

    # Native code that its file has no name for: where in the file it is.
    def unnamed(path, address)
      start, _, offset = mapping(address)
      return format("0x%x", address) if path.empty? || start.nil?

      format("%s+0x%x", GemName.base(path), address - start + offset)
    end

    # What a frame surely is: :internal, :ruby, or :any, which may be C.
    def nature(id)
      @natures[id] ||= if INTERNAL_PATH.match?(@texts[@fields[id * FRAME_FIELDS + 1]]) then :internal
                       elsif RUBY_LABEL.match?(@texts[@fields[id * FRAME_FIELDS]]) then :ruby
                       else :any
                       end
    end

    # The identity of a stack with one frame more than +below+ has.
    def on_top(below, id)
      frame = @numbers[id] ||= frame_number(id)
      frame == NO_IDENTITY ? below : @interner[(below + 1) << 32 | frame] ||= @interner.size
    end

    # NO_IDENTITY for what files have in place of an empty stack.
    def frame_number(id)
      frame = frame(id)
      return NO_IDENTITY if frame.label == NO_STACK

      @interner[[frame.label, frame.full_path, frame.lineno, frame.address]] ||= @interner.size
    end
  end
end
