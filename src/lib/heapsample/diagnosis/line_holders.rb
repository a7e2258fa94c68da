# frozen_string_literal: true

module HeapSample
  # What retains the memory of a line, by the last heap walk of a series: the reference to name, see NearestHolder. A holder
  # is named for what it retains, and nothing is inferred from a small part.
  #
  # Where a collection has no more entries than at the first walk, and the line has more memory below it, its entries grew:
  # the collections in them are named.
  #
  # A cache whose entries are replaced has much of what was allocated lately, and does not grow. Where the first walk found as
  # much of the line below it as the last one, what retains the rest is named, if that grew.
  #
  # A local variable is named only if it is as old as what it holds: where the first walk saw the line, the same variable
  # held it there. A word on a C stack, or in the memory of C code below a local variable, may be no reference.
  #
  # Where the walk found no owner of a line's blocks, what retains the objects in whose method C code asked for them
  # probably retains them: what retains the Zlib::Deflates retains what zlib has for each.
  class LineHolders
    # The holder of a smaller part is not named.
    SHARE_LEAST = 1 / 3.0
    # A smaller part is not reported.
    PART_LEAST = 0.1
    # C code lost what no reference was found to, if that is such a part.
    LOST_LEAST = 2 / 3.0
    # One sample is chance, unless it is one large object.
    SAMPLES_LEAST = 2
    # One object may have so many blocks.
    OBJECTS_EACH = 200

    # +walks+: the Walks of the series; +from+: the GC count from which on growth is judged.
    def initialize(walks, from)
      @walks = walks
      @nearest = walks.last.nearest_holder
      @from = from
    end

    # Gives a line its holder, or what retains a part of it.
    def add_to(line)
      held = held(line) or return
      line.walks = @walks
      held = without_replaced(held, line)
      found = @nearest.of(held, known: true)
      guess = found && guess?(found, line) ? found : nil
      known = found if found && !guess && (found.samples >= SAMPLES_LEAST || found.objects < SAMPLES_LEAST)
      inner = @nearest.inner(held, known) if known
      known = inner if inner && inner.share >= SHARE_LEAST && @walks.grew_within?(line.place, known, inner)
      return line.holder = known if known && known.share >= SHARE_LEAST

      line.holder = (of_owner(line) if found.nil? || guess) || lost(held, guess)
      line.partly = known if known&.named? && known.share >= PART_LEAST && !line.holder&.known? && !line.lost?
    end

    private

    # Holders::Held of a line. Where the walk reached nearly nothing of it, or is older than what grows, what the line allocated
    # before has the holder: in the later half of the time before the walk, else in all of it.
    def held(line)
      all = [@from, recent, 0].lazy.filter_map { |from| since(from)[line.place]&.then { |rows| held_of(rows, line) } }
      all.find { |held| line.function || @nearest.of(held, known: true)&.then { |answer| answer.share >= PART_LEAST } } || since(0)[line.place]&.then { |rows| held_of(rows, line) }
    end

    # Without objects that no major GC found alive and that the walk did not reach: these are garbage.
    def held_of(rows, line)
      held = rows.flat_map { |row| by_row.fetch(row, []) }
      return held if line.function

      held.reject { |one| one.row[Columns::ALLOCATION_GC].to_i >= @walks.last.info.last_major_gc.to_i && Roots.silent?(@walks.last.holders.path(one.node).first.name) }
    end

    # Without what is below a holder that has as much of the line as before, if what retains the rest is known and has more.
    def without_replaced(held, line)
      steady = @nearest.of(held, known: true)
      return held unless steady&.named? && @walks.steady?(line.place, steady)

      rest = @walks.outside(held, steady)
      other = @nearest.of(rest, known: true)
      other&.named? && other.share >= SHARE_LEAST && other.samples >= SAMPLES_LEAST && @walks.grew?(line.place, other) ? rest : held
    end

    def by_row = @by_row ||= @walks.last.holders.each_with_object({}.compare_by_identity) { |held, rows| (rows[held.row] ||= []) << held }

    # By line, what was allocated from a GC on. One sample is no sign of a holder, but for all of a line.
    def since(gc)
      (@since ||= {})[gc] ||= begin
        keys = Keys.new(@walks.last, :line)
        rows = @walks.last.table.select { |row| row[Columns::INUSE_OBJECTS].positive? && row[Columns::ALLOCATION_GC].to_i >= gc }
        rows.group_by { |row| keys.of(row) }.select { |_, same| gc.zero? || same.sum { |row| row[Columns::INUSE_SAMPLES] } >= SAMPLES_LEAST }
      end
    end

    # The GC at half of the time before the walk.
    def recent
      @recent ||= begin
        times = @walks.last.info.gc_times.to_a
        half = times.first && (times.first.time + ((@walks.last.info.taken - times.first.time) / 2))
        times.find { |begun| begun.time >= half }&.gc || 0
      end
    end

    # That no reference was found to most of it, a guess being none; nil if one was.
    def lost(held, guess)
      most = @nearest.of(held)
      most if most && most.path.first.name == Roots::NOT_REACHED && most.share + (guess&.share || 0) >= LOST_LEAST && most.samples >= SAMPLES_LEAST
    end

    # Is it a word on a C stack, or a local variable that may not be as old as what it holds?
    def guess?(answer, line)
      return answer.guess? unless answer.local?

      held = @walks.local_held?(line.place, answer)
      answer.guess? || held == false || (held.nil? && line.native?)
    end

    # Objects of the class in whose method C code asked for it.
    def of_owner(line)
      owner = line.stack.find { |frame| !frame.native? }&.qualified_label&.slice(/\A(.+)#/, 1) or return
      answer = @nearest.of(by_class.fetch(owner, []), known: true)
      return unless answer&.named? && answer.edge.written? && answer.samples >= SAMPLES_LEAST && answer.objects.between?(line.objects / OBJECTS_EACH, line.objects)

      answer.owner = owner
      answer
    end

    # References by the class of the object that has the memory.
    def by_class = @by_class ||= @walks.last.holders.of(since(@from).values.flatten(1)).group_by(&:class_name)
  end
end
