# frozen_string_literal: true

module HeapSample
  # What retains the memory of a line, by a walk over the heap: the reference to name, see NearestHolder.
  #
  # No reference of Ruby leads to a block of C code, so such blocks are asked last:
  #
  # 1. the reference that retains a third of the memory, at least;
  # 2. the one that retains objects of the class in whose method C code asked for the blocks: what retains the
  #    Zlib::Deflates retains what zlib has for each of them;
  # 3. the one that retains most of what has a known owner, if that is objects enough to have the rest.
  class LineHolders
    # The holder of a smaller part is not named.
    SHARE_LEAST = 1 / 3.0
    # Of what has a known owner it retains so much.
    KNOWN_LEAST = 1 / 2.0
    # One sample is chance, unless it is one large object.
    SAMPLES_LEAST = 2
    # One object may have so many others, or blocks.
    OBJECTS_EACH = 200

    # +profile+: one with a walk; +from+: the GC count from which on growth is judged.
    def initialize(profile, from)
      @profile = profile
      @nearest = profile.nearest_holder
      @from = from
    end

    # A NearestHolder::Answer, or nil.
    def of(line)
      rows = by_line[line.place] or return
      most = @nearest.of_rows(rows) or return
      return (most if most.share >= SHARE_LEAST && (most.samples >= SAMPLES_LEAST || most.objects < SAMPLES_LEAST)) if most.told?

      of_owner(line) || of_known(rows, line) || (most if most.share >= SHARE_LEAST && most.samples >= SAMPLES_LEAST)
    end

    private

    def by_line
      @by_line ||= begin
        keys = Keys.new(@profile, :line)
        rows = @profile.table.select { |row| row[Columns::BIRTH_GC].to_i >= @from && row[Columns::INUSE_OBJECTS].positive? }
        rows.group_by { |row| keys.of(row) }
      end
    end

    # The class in whose method C code asked for it: its objects may have the blocks.
    def of_owner(line)
      owner = line.stack.find { |frame| !frame.native? }&.qualified_label&.slice(/\A(.+)#/, 1) or return
      answer = enough(@nearest.of(by_class.fetch(owner, []), told: true), line)
      answer.owner = owner if answer
      answer
    end

    def of_known(rows, line)
      known = @nearest.of_rows(rows, told: true)
      enough(known, line) if known && known.share_of_told >= KNOWN_LEAST
    end

    # May what is known to be retained bring the rest, and did somebody write what retains it?
    def enough(answer, line)
      answer if answer&.kept? && answer.edge.written? && answer.samples >= SAMPLES_LEAST && answer.objects * OBJECTS_EACH >= line.objects
    end

    # References by the class of the object that has the memory.
    def by_class = @by_class ||= @profile.holders.of(by_line.values.flatten(1)).group_by(&:class_name)
  end
end
