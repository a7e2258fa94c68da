# frozen_string_literal: true

module HeapSample
  # Stacks as they are in a file: packed varints of location ids, leaf first.
  # They are decoded when asked for, since a report by line needs two or three
  # frames of each.  Handle 0 is the empty stack.
  class ListStacks < Stacks
    # +frames_of+: location id => frame id, or Array of them, leaf first; its
    # default is the frame of an id that the file does not have.
    def initialize(texts, fields, frames_of, mappings = [])
      super(texts, fields, mappings)
      @frames_of = frames_of
      @lists = ["".b]
      @handles = {@lists[0] => 0}
    end

    # The handle of the stack that is +list+, a binary String; the block is called where it is a new one.
    def intern(list)
      @handles[list] ||= begin
        yield if block_given?
        @lists << list
        @lists.size - 1
      end
    end

    # Frame ids of a token, leaf first; several where calls were inlined.
    def token_frames(token)
      location = shift = 0
      token.each_byte do |byte|
        location |= (byte & 0x7f) << shift if shift < 64 || byte < 0x80
        shift += 7
      end
      Array(@frames_of[location])
    end

    # By getbyte, not each_byte: most are left after two or three frames, and to
    # break out of a C method takes longer than those.
    def each_frame_id(handle)
      list = @lists[handle]
      position = location = shift = 0
      while (byte = list.getbyte(position))
        position += 1
        if byte >= 0x80
          location |= (byte & 0x7f) << shift if shift < 64
          shift += 7
          next
        end
        frames = @frames_of[location | byte << shift]
        location = shift = 0
        frames.is_a?(Array) ? frames.each { |id| yield id } : yield(frames)
      end
    end

    private

    # All at once, sorted from the root: neighbours share most of their frames, so
    # that a frame which many stacks have in common is looked at once.
    def identify
      paths = @lists.map(&:reverse)
      before = EMPTY
      stops, numbers = [0], [NO_IDENTITY]         # of the tokens of the path before
      tokens = Hash.new { |known, token| known[token] = token_frames(token.reverse).reverse }
      paths.each_index.sort_by { |handle| paths[handle] }.each do |handle|
        path = paths[handle]
        common = common(before, path)
        while stops.last > common || path.getbyte(stops.last).to_i >= 0x80
          stops.pop
          numbers.pop
        end
        while (at = stops.last) < path.bytesize
          stop = at + 1
          stop += 1 while path.getbyte(stop).to_i >= 0x80
          numbers << tokens[path.byteslice(at, stop - at)].inject(numbers.last) { |below, id| on_top(below, id) }
          stops << stop
        end
        @identities[handle] = numbers.last
        before = path
      end
    end

    # How many bytes two Strings have in common at their beginning.
    def common(one, other)
      most = [one.bytesize, other.bytesize].min
      return most if one.byteslice(0, most) == other.byteslice(0, most)

      (1..most).bsearch { |length| one.byteslice(0, length) != other.byteslice(0, length) } - 1
    end

    # Stacks that were added after the rest was identified.
    def number_of(handle)
      frame_ids(handle).reverse.inject(NO_IDENTITY) { |below, id| on_top(below, id) }
    end

    def packed(handle)
      @lists[handle]
    end
  end
end
