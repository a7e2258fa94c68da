# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # Figures, places and tables as text.  Sizes are in binary units (1 KiB is
  # 1024 bytes).
  #
  # Names of classes, files and methods can have any content: see Printable.
  #
  # A style decorates what a terminal can show in colour.  It is any object that
  # answers STYLES, each with a text, and gives the text back, decorated but no
  # wider; nil decorates nothing.
  class Layout
    # A title; the head of a table; figures that few samples carry, or that are no
    # more than noise; what grew; what shrank; all else in a table.
    STYLES = %i[title head weak grown shrunk plain]

    UNITS = %w[B KiB MiB GiB TiB PiB]
    COUNT_UNITS = [[1e9, "billion"], [1e6, "million"]]
    ELLIPSIS = "…"
    WIDTH = 120
    # Room for a place, to which columns give way; the part of a line up to which they do so
    # for a longer file name; and what a place has at least, however narrow the table.
    PLACE_MIN = 30
    PLACE_SHARE = 0.6
    ROOM_MIN = 16
    # What is left of a label while there are folders to cut, with the blank before it; and the
    # shortest that is still useful.
    LABEL_LEAST = 14
    LABEL_SHORTEST = 6
    # A place that does not fit into its column stands below, so far from the left.
    BELOW = 4
    # Before the line of the application that led to a row.
    LED = "← "

    # A path of 64 KiB takes one pass, also on Ruby 3.1: (?=[^/]+/.) first sees that the folder ends.
    GEM_PATH = %r{\A.*/gems/(?=[^/]+/.)([^/]+-(?:\d[^/]*|\h{7,})/.+)\z}m
    RUBY_PATH = %r{\A.*/lib/(?=ruby/[^/]+/.)(ruby/\d+\.\d+\.\d[^/]*/.+)\z}m

    # In a column that has nothing for a row.
    NOTHING = "-"
    # Columns of estimates, which figures that are counted do not need.
    ESTIMATED = ["95% interval", "samples"]
    # Before the rank of a row that has few samples.
    WEAK_MARK = "~"

    # Characters in a line.
    attr_reader :width

    # "1,234,567".
    def self.grouped(number) = number.to_s.gsub(/(?<=\d)(?=(?:\d{3})+\z)/, ",")

    # Paths below +root+ are given relative to it, and else those below +directory+, where a process ran.  With +stacks+ rows
    # are shown with their whole stacks, with +markdown+ all of a place is in a code span.  Raises ArgumentError unless +width+ is a positive Integer, +root+ a path or nil, and +style+ nil or what
    # answers STYLES.
    def initialize(width: WIDTH, root: nil, style: nil, stacks: false, directory: nil, markdown: false, counted: false)
      Layout.check(width: width)
      raise ArgumentError, "root must be a path or nil, not #{root.inspect}" unless root.nil? || root.is_a?(String) || root.respond_to?(:to_path)
      unless style.nil? || STYLES.all? { |name| style.respond_to?(name) }
        raise ArgumentError, "style must be nil or an object with #{STYLES.join(", ")}, not #{style.inspect}"
      end

      @width = width
      @root = "#{root.to_s.chomp("/")}/" if root
      @directory = "#{directory.chomp("/")}/" if directory
      @style = style
      @stacks = stacks
      @markdown = markdown
      @counted = counted
    end

    # The same for Markdown, where a name that is in no code span could be anything.
    def markdown = Layout.new(width: width, root: @root, stacks: @stacks, directory: @directory, markdown: true, counted: @counted)

    # Are all figures counted, so that none has an interval?
    def counted? = @counted

    # A name that is in a code span only in Markdown.
    def bare(name) = @markdown ? Printable.code(name) : Printable.text(name)

    # Is the whole stack of each row shown?
    def stacks? = @stacks

    # Raises ArgumentError for what is no positive Integer.
    def self.check(**options) # :nodoc:
      options.each do |name, value|
        next if value.is_a?(Integer) && value > 0

        raise ArgumentError, "#{name} must be a positive Integer, not #{value.inspect}"
      end
    end

    # +text+, decorated as one of STYLES.
    def styled(name, text)
      @style ? @style.public_send(name, text) : text
    end

    # Lines of a title, of a sentence, and of a remark that can be overlooked.
    def title(text) = sentence(text).map { |line| styled(:title, line) }
    def remark(text) = sentence(text).map { |line| styled(:weak, line) }

    # Broken between words where it is wider than a line can be.
    def sentence(text)
      text = Printable.text(text)
      return [text] if text.length <= width

      text.split(" ").each_with_object([+""]) do |word, lines|
        lines << +"" if lines.last.length + 1 + word.length > width && !lines.last.empty?
        lines.last << " " unless lines.last.empty?
        lines.last << word
      end
    end

    # Sections of lines as one text, an empty line between two.
    def text(sections)
      "#{sections.reject(&:empty?).map { |lines| lines.join("\n") }.join("\n\n")}\n"
    end

    # "48.1 MiB"; with a sign if +sign+; +unit+: an index of UNITS, if it is not to fit the value.
    def bytes(value, sign: false, unit: scale(value.abs))
      "#{in_unit(value, unit, sign)} #{UNITS[unit]}"
    end

    # The bytes of an estimate, or a part of them, in the unit of its #interval.
    def size(estimate, space = estimate.space) = bytes(space, unit: unit_of(estimate))

    # call-seq:
    #   figure(value, limits, sign: false) -> [String, String]
    #
    # Bytes and their interval in one unit: ["+0.9 MiB", "+0.4 – +1.6 MiB"]; ["+0.9 MiB", "±0.02 MiB"] of an interval whose
    # limits look the same.
    def figure(value, limits, sign: false)
      unit = scale([value, *limits].map(&:abs).max)
      narrow = limits.map { |limit| in_unit(limit, unit, sign) }.uniq.size == 1
      width = limits.last - limits.first
      [bytes(value, sign: sign, unit: unit), narrow ? narrow_range(width / 2.0, unit) : range(*limits, sign: sign, unit: unit)]
    end

    # A setting, as it was given: "512 KiB".
    def setting(value)
      unit = 0
      while value >= 1024 && (value % 1024).zero? && unit < UNITS.size - 1
        value /= 1024
        unit += 1
      end
      "#{count(value)} #{UNITS[unit]}"
    end

    # "1,234,567".
    def count(value)
      Layout.grouped(value.round)
    end

    # The same for sentences: "1.2 million".
    def rough_count(value)
      divisor, name = COUNT_UNITS.find { |limit, _| value >= limit }
      divisor ? "#{format("%.1f", value / divisor)} #{name}" : count(value)
    end

    def percent(share)
      format("%.1f%%", share * 100)
    end

    # Two shares: "93.1 – 97.0%".
    def percents(low, high)
      "#{format("%.1f", low * 100)} – #{percent(high)}"
    end

    # "2 h 5 min", "12.5 s".
    def duration(seconds)
      return format("%.1f s", seconds) if seconds < 59.95

      seconds = seconds.round
      minutes = seconds / 60
      return "#{minutes} min #{seconds % 60} s" if minutes < 60

      hours = minutes / 60
      hours < 48 ? "#{hours} h #{minutes % 60} min" : "#{hours / 24} d #{hours % 24} h"
    end

    # The same of what may be short: "21 ms".
    def time(seconds) = seconds < 1 ? "#{count((seconds * 1000).ceil)} ms" : duration(seconds)

    # The 95% interval of an estimate's bytes, or of its objects, in the unit of #size: "±0.1 GiB" of "1.2 GiB".
    # "±2.2 MiB" where that is honest; the limits where they are not about as far on either side.
    # "?" where the profile does not have it.
    def interval(estimate, measure = :space)
      return "exact" if estimate.exact?

      limits = estimate.interval(measure)
      return "?" unless limits

      low, high = limits
      return measure == :objects ? "±#{count((high - low) / 2)}" : "±#{error((high - low) / 2, unit_of(estimate))}" if symmetric?(estimate)

      measure == :objects ? "#{count(low)} – #{count(high)}" : range(low, high, unit: unit_of(estimate))
    end

    # Bytes or, of :objects, their number.
    def quantity(value, measure)
      measure == :objects ? count(value) : bytes(value)
    end

    # The same in a sentence: "±2.2 MiB", "(1.5 – 7.0 MiB)".
    def bracketed(estimate, measure = :space)
      text = interval(estimate, measure)
      return "(interval not known)" if text == "?"

      text.start_with?("±") ? text : "(#{text})"
    end

    # "120.4 MiB ±2.9 MiB in 1,234 objects, 240 samples"; "512.0 MiB (exact), 9.1 MiB of it
    # resident, in 512 objects, 512 samples".
    def amount(estimate)
      return "nothing sampled" if estimate.zero?

      samples = ", #{count(estimate.samples)} samples" if estimate.samples > 0 && estimate.samples != estimate.objects
      "#{size(estimate)} #{bracketed(estimate)}#{resident(estimate)} in #{count(estimate.objects)} objects#{samples}"
    end

    # ", 9.1 MiB of it resident," where that differs.
    def resident(estimate)
      estimate.untouched? ? ", #{size(estimate, estimate.resident.space)} of it resident," : ""
    end

    # The part that +value+ is of +total+; NOTHING if that is 0.
    def share(value, total)
      total > 0 ? percent(value / total.to_f) : NOTHING
    end

    # "3", or "~3" of what few samples carry.
    def rank(number, weak)
      "#{WEAK_MARK if weak}#{number}"
    end

    # What the mark means, where a table has it.
    def legend(weak)
      weak ? remark("#{WEAK_MARK} fewer than #{Estimate::WEAK_BELOW} samples: weak") : []
    end

    # The line below a table that does not show all.
    def more(count)
      count > 0 ? ["and #{count(count)} more"] : []
    end

    # Two sizes in the unit of the larger one: "1.5 – 7.0 MiB".
    def range(low, high, sign: false, unit: scale([low.abs, high.abs].max))
      "#{in_unit(low, unit, sign)} – #{in_unit(high, unit, sign)} #{UNITS[unit]}"
    end

    # From so many samples on the limits lie about as far on either side.
    SYMMETRIC_FROM = 20

    # "models/user.rb:12 User#name": the place of a group, or its name; or what it
    # makes of the room, if it is callable.  Of a place the label is cut first, then the
    # path in front; the file's name and the line are whole wherever they fit.
    def place(key, room = nil)
      return key.call(room) if key.respond_to?(:call)
      return name(key, room) unless key.is_a?(Place)
      return name(key.label || "", room) if key.path.empty?

      path, line, label = parts(key)
      whole = path + line + label
      return whole if room.nil? || whole.length <= room

      kept = [label.length, LABEL_LEAST, room - file_length(path) - line.length].min.clamp(0..)
      place = shorten_path(path, room - line.length - kept) + line
      rest = room - place.length
      label.length <= rest || rest >= LABEL_SHORTEST ? place + cut(label, rest) : place
    end

    # Characters that #place needs for the name of a file and the line.
    def least(key)
      return key.respond_to?(:least) ? key.least : 0 if key.respond_to?(:call)
      return 0 if !key.is_a?(Place) || key.path.empty?

      path, line, = parts(key)
      file_length(path) + line.length
    end

    # A group in a sentence: "models/user.rb:12 `User#name`", "`String`".
    def subject(key)
      return Printable.code(name(key)) unless key.is_a?(Place)
      return Printable.code(place(key)) if @markdown

      label = Printable.code(key.label) if key.label
      key.path.empty? ? label.to_s : [place(Place.new(key.path, key.line, nil)), label].compact.join(" ")
    end

    # What retains memory, a NearestHolder::Answer: "@subscribers of Notifier", "local cache of Worker#run app/worker.rb:7".
    def holder(answer)
      edge = answer.edge
      answer.named? ? [name(edge.name), *(place(edge.place) if edge.place)].join(" ") : answer.path.first.name
    end

    # Where a gem, Ruby's library or the application is does not matter.
    def path(path)
      below = [@root, @directory].compact.find { |folder| path.start_with?(folder) && path.length > folder.length && folder != "/" }
      path = path.delete_prefix(below) if below
      path[GEM_PATH, 1] || path[RUBY_PATH, 1] || path
    end

    # The lines of a table.  +columns+: a title, :left or :right, for those
    # that a narrow table can do without the order in which they go, from 1, and for texts
    # that may be cut before any goes the width that is left of them.  The
    # last column is not padded: it is a place or a name, cut to the room that is
    # left, or asked what it makes of that; where not even a place's file and line fit, it is a
    # line of its own.  Of the columns that can go, one that has
    # NOTHING for all rows does.  +styles+: for each row the style of its figures,
    # nil for none.  +below+: for each row what its second line has, a place or nothing.
    def table(columns, rows, styles = [], below = [])
      return without_intervals.table(*estimates_removed(columns, rows), styles, below) if @counted

      kept, widths, room = fit(columns, rows)
      columns = columns.values_at(*kept)
      lines = rows.each_with_index.flat_map do |cells, index|
        figures = cells.values_at(*kept[0..-2]).each_with_index.map { |cell, at| cut(Printable.text(cell.to_s), widths[at]) }
        [*row(figures, cells.last, room, columns, widths, styles[index] || :plain), *(second_line(below[index]) if below[index])]
      end
      [line(columns.map(&:first), columns, widths, :head, :head), *lines]
    end

    # "String", cut to +room+ characters.
    def name(text, room = nil)
      text = text.nil? || text.empty? ? "(unknown)" : Printable.text(text)
      room ? cut(text, room) : text
    end

    private

    def without_intervals = dup.tap { |layout| layout.instance_variable_set(:@counted, false) }

    def estimates_removed(columns, rows)
      kept = columns.each_index.reject { |at| ESTIMATED.include?(columns[at].first) }
      [columns.values_at(*kept), rows.map { |cells| cells.values_at(*kept) }]
    end

    # The unit that leaves fewer than four digits before the point.
    def scale(size)
      unit = 0
      while size >= 1023.95 && unit < UNITS.size - 1
        size /= 1024.0
        unit += 1
      end
      unit
    end

    # The larger of the two figures of an estimate, as it is shown.
    def unit_of(estimate)
      limits = estimate.interval unless estimate.exact? || symmetric?(estimate)
      scale([estimate.space, *limits].max)
    end

    def symmetric?(estimate) = estimate.samples >= SYMMETRIC_FROM

    def narrow_range(error, unit) = error.zero? ? "exact" : "±#{error([error, unit.zero? ? 1 : 0].max, unit)}"

    # With as many decimals as leave a digit of it.
    def error(value, unit)
      return bytes(value, unit: unit) if unit.zero?

      value /= 1024.0**unit
      decimals = (1..ERROR_DECIMALS).find { |count| value.round(count) > 0 }
      "#{format("%.#{decimals || ERROR_DECIMALS}f", decimals ? value : 10.0**-ERROR_DECIMALS)} #{UNITS[unit]}"
    end

    ERROR_DECIMALS = 3
    private_constant :ERROR_DECIMALS

    def in_unit(value, unit, sign)
      number = format(unit.zero? ? "%.0f" : "%.1f", value.abs / 1024.0**unit)
      return number if number.to_f.zero?

      value < 0 ? "-#{number}" : "#{"+" if sign}#{number}"
    end

    # Path, line and label of a place, as they are shown.
    def parts(key)
      [Printable.text(path(key.path)), key.line.to_i > 0 ? ":#{key.line}" : "", key.label ? " #{Printable.text(key.label)}" : ""]
    end

    # Of "…/user.rb".
    def file_length(path)
      [path.length, path.length - (path.rindex("/") || -1) + ELLIPSIS.length].min
    end

    # Indexes of the columns that have values and room, their widths, and
    # the room of the last.
    def fit(columns, rows)
      kept = columns.each_index.reject { |index| columns[index][2] && rows.any? && rows.all? { |cells| cells[index] == NOTHING } }
      widths = columns[0..-2].each_index.map do |index|
        [columns[index][0], *rows.map { |cells| Printable.text(cells[index].to_s) }].map(&:length).max
      end
      room = -> { width - kept[0..-2].sum { |index| widths[index] + 2 } }
      needed = needed(rows)
      narrow(columns, kept, widths) { needed - room.call }
      kept.select { |index| columns[index][2] }.sort_by { |index| columns[index][2] }.each do |index|
        kept.delete(index) if room.call < needed
      end
      [kept, widths.values_at(*kept[0..-2]), [room.call, ROOM_MIN].max]
    end

    # What the last column should have.
    def needed(rows)
      keys = rows.map(&:last)
      [[keys.map { |key| place(key).length }.max || 0, PLACE_MIN].min, [keys.map { |key| least(key) }.max || 0, (width * PLACE_SHARE).floor].min].max
    end

    # Texts that may be cut give up the width that the block returns.
    def narrow(columns, kept, widths)
      kept[0..-2].select { |index| columns[index][3] }.each do |index|
        least = [columns[index][3], columns[index][0].length].max
        widths[index] = [widths[index] - [yield, 0].max, [least, widths[index]].min].max
      end
    end

    # A row, of two lines where its place does not fit.
    def row(figures, last, room, columns, widths, style)
      return [line([*figures, place(last, room)], columns, widths, style, :plain)] if !last.is_a?(Place) || least(last) <= room

      [line([*figures, ""], columns, widths, style, :plain), "#{" " * BELOW}#{place(last, width - BELOW)}"]
    end

    def second_line(place)
      styled(:weak, "#{" " * BELOW}#{LED}#{place(place, width - BELOW - LED.length)}")
    end

    def line(cells, columns, widths, figures, last)
      padded = cells[0..-2].each_with_index.map do |cell, index|
        columns[index][1] == :left ? cell.ljust(widths[index]) : cell.rjust(widths[index])
      end
      return cells.last if padded.empty?

      text = padded.join("  ")
      cells.last.empty? ? styled(figures, text.rstrip) : "#{styled(figures, text)}  #{styled(last, cells.last)}".rstrip
    end

    # Keeps the end of a path, whole directories if possible.
    def shorten_path(path, room)
      return path if path.length <= room

      tail = path[-[room - 1, 1].max..]
      slash = tail.index("/")
      ELLIPSIS + (slash && slash < tail.length - 1 ? tail[slash..] : tail)
    end

    def cut(text, room)
      text.length <= room ? text : "#{text[0, [room - 1, 0].max]}#{ELLIPSIS}"
    end
  end
end
