# frozen_string_literal: true

module HeapSample
  # Stacks as packed Strings, sorted, so that those which begin alike are neighbours:
  # a node of their prefix tree is a range of them, and what it branches into is
  # found by binary search.  So only what is shown of a tree is ever built, however
  # many stacks there are and however deep.
  #
  # From the site to the root they are sorted as Stacks#trail gives them; from the
  # root to the site with their bytes reversed, so that a token's last byte, without
  # the high bit, is its first.
  class PathIndex
    # Stacks from index +from+ to before +to+ that have the same +at+ first bytes,
    # the last of which stand for a frame, by its id.
    Span = Struct.new(:from, :to, :at, :frame)

    BLOCK = 256

    # +estimates+: HeapSample::Estimate by trail; +from_root+: which end is first.
    # The block gives an estimate's number.
    def initialize(estimates, from_root:)
      @from_root = from_root
      sorted = estimates.map { |trail, estimate| [from_root ? trail.reverse : trail, estimate] }.sort_by!(&:first)
      @paths = sorted.map(&:first)
      @estimates = sorted.map(&:last)
      @blocks = @estimates.each_slice(BLOCK).map { |block| Estimate.sum(block) }
      sum = 0.0
      @below = [0.0, *@estimates.map { |estimate| sum += yield(estimate) }]
    end

    # All stacks.
    def all
      [Span.new(0, @paths.size, 0, nil)]
    end

    # The number of spans together, to rank by: it has the error of a difference of
    # sums, some 10**-16 of all.
    def weight(spans)
      spans.sum { |span| @below[span.to] - @below[span.from] }
    end

    # Spans together: a HeapSample::Estimate.
    def estimate(spans)
      spans.inject(Estimate.new) { |sum, span| add(sum, span.from, span.to) }
    end

    # call-seq:
    #   ends(spans) -> Array of Span
    #
    # The stacks that end where the spans do.
    def ends(spans)
      spans.filter_map { |span| Span.new(span.from, span.from + 1, span.at, span.frame) if ended?(span) }
    end

    # A span without some of its branches, or parts of them, in order: Array of Span.
    def without(span, branches)
      return [span] if branches.empty?

      starts = [span.from, *branches.map(&:to)]
      stops = [*branches.map(&:from), span.to]
      starts.zip(stops).filter_map { |from, to| Span.new(from, to, span.at, span.frame) if from < to }
    end

    # Yields each token that comes next, as Stacks#token_frames takes it, and the
    # Span of the stacks that have it.
    def branches(span)
      from = ended?(span) ? span.from + 1 : span.from
      while from < span.to
        stop = token_stop(@paths[from], span.at)
        token = @paths[from].byteslice(span.at, stop - span.at)
        to = same?(span.to - 1, token, span.at) ? span.to : (from + 1...span.to).bsearch { |index| !same?(index, token, span.at) }
        yield @from_root ? token.reverse : token, Span.new(from, to, stop, nil)
        from = to
      end
    end

    private

    # Is the first stack of a span no longer than what they share?  There is one
    # such at most, and it sorts first.
    def ended?(span)
      @paths[span.from].bytesize == span.at
    end

    def token_stop(path, at)
      return Stacks.token_stop(path, at) unless @from_root

      at += 1
      at += 1 while (byte = path.getbyte(at)) && byte >= 0x80
      at
    end

    def same?(index, token, at)
      path = @paths[index]
      path.byteslice(at, token.bytesize) == token && !(@from_root && path.getbyte(at + token.bytesize).to_i >= 0x80)
    end

    # Whole blocks are added up already.
    def add(sum, from, to)
      while from < to
        if (from % BLOCK).zero? && from + BLOCK <= to
          sum.add(@blocks[from / BLOCK])
          from += BLOCK
        else
          sum.add(@estimates[from])
          from += 1
        end
      end
      sum
    end
  end
end
