# frozen_string_literal: true

module HeapSample
  # What retains the memory of a line, by the last heap walk of a series: the reference to name, see NearestHolder. A holder
  # is named for what it retains, and nothing is inferred from a small part.
  #
  # A local variable is named only if it is as old as what it holds: where the first walk saw the line, the same variable
  # held it there. A word on a C stack, or in the memory of C code below a local variable, may be no reference.
  #
  # Where the walk found no owner of a line's blocks, what retains the objects in whose method C code asked for them
  # probably retains them: what retains the Zlib::Deflates retains what zlib has for each.
  class LineHolders
    # The holder of a smaller part is not named.
    SHARE_LEAST = 1 / 3.0
    # Of a smaller part nothing is said.
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
      rows = rows(line) or return
      line.walks = @walks
      told = @nearest.of_rows(rows, told: true)
      guess = told && guess?(told, line) ? told : nil
      known = alive(told, line) if told && !guess && (told.samples >= SAMPLES_LEAST || told.objects < SAMPLES_LEAST)
      return line.holder = known if known && known.share >= SHARE_LEAST

      line.holder = (of_owner(line) if told.nil? || guess) || lost(rows, guess)
      line.partly = known if known&.kept? && known.share >= PART_LEAST && !line.holder&.told? && !line.lost?
    end

    private

    # Ruby's objects to which no reference leads are free by now. Where they are nearly all, what the line allocated before has
    # the holder; else the share is of the others.
    def rows(line)
      rows = by_line[line.place]
      rows && (line.function || @nearest.of_rows(rows, told: true)&.then { |answer| answer.share >= PART_LEAST }) ? rows : older[line.place]
    end

    def alive(answer, line) = line.function ? answer : answer.dup.tap { |one| one.share = one.share_of_told }

    def by_line = @by_line ||= group(@walks.last.table.select { |row| row[Columns::BIRTH_GC].to_i >= @from }).select { |_, rows| enough?(rows) }
    def enough?(rows) = rows.sum { |row| row[Columns::INUSE_SAMPLES] } >= SAMPLES_LEAST
    # What lines had allocated before growth is judged: of a walk that is older than that, this is all, or nearly all.
    def older = @older ||= group(@walks.last.table)

    def group(rows)
      keys = Keys.new(@walks.last, :line)
      rows.select { |row| row[Columns::INUSE_OBJECTS].positive? }.group_by { |row| keys.of(row) }
    end

    # That no reference was found to most of it, a guess being none; nil if one was.
    def lost(rows, guess)
      most = @nearest.of_rows(rows)
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
      answer = @nearest.of(by_class.fetch(owner, []), told: true)
      return unless answer&.kept? && answer.edge.written? && answer.samples >= SAMPLES_LEAST && answer.objects.between?(line.objects / OBJECTS_EACH, line.objects)

      answer.owner = owner
      answer
    end

    # References by the class of the object that has the memory.
    def by_class = @by_class ||= @walks.last.holders.of(by_line.values.flatten(1)).group_by(&:class_name)
  end
end
