# frozen_string_literal: true

module HeapSample
  # Figures, places and tables as text.  Sizes are in binary units (1 KiB is
  # 1024 bytes).
  class Layout
    UNITS = %w[B KiB MiB GiB TiB PiB].freeze
    COUNT_UNITS = [[1e9, "billion"], [1e6, "million"]].freeze
    ELLIPSIS = "…"
    WIDTH = 120
    # Room that a place has at least, however narrow the table.
    PLACE_MIN = 30

    GEM_PATH = %r{\A.*/gems/([^/]+-(?:\d[^/]*|\h{7,})/.+)\z}m
    RUBY_PATH = %r{\A.*/lib/(ruby/\d+\.\d+\.\d+[^/]*/.+)\z}m

    # Characters in a line of a table.
    attr_reader :width

    # Paths below +root+ are given relative to it.
    def initialize(width: WIDTH, root: nil)
      @width = width
      @root = "#{root.chomp("/")}/" if root
    end

    # "48.1 MiB"; with a sign if +sign+.
    def bytes(value, sign: false)
      unit = scale(value.abs)
      "#{in_unit(value, unit, sign)} #{UNITS[unit]}"
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
      value.round.to_s.gsub(/(?<=\d)(?=(?:\d{3})+\z)/, ",")
    end

    # The same for sentences: "1.2 million".
    def rough_count(value)
      divisor, name = COUNT_UNITS.find { |limit, _| value >= limit }
      divisor ? "#{format("%.1f", value / divisor)} #{name}" : count(value)
    end

    def percent(share)
      format("%.1f%%", share * 100)
    end

    # "2 h 5 min", "12.5 s".
    def duration(seconds)
      return format("%.1f s", seconds) if seconds < 59.95

      minutes = (seconds / 60).floor
      return "#{minutes} min #{(seconds % 60).floor} s" if minutes < 60

      hours = minutes / 60
      hours < 48 ? "#{hours} h #{minutes % 60} min" : "#{hours / 24} d #{hours % 24} h"
    end

    # The 95% interval of an estimate's bytes.  "±2.2 MiB" where that is honest;
    # the limits where they are not about as far on either side.
    def interval(estimate)
      return "exact" if estimate.exact?
      return "?" if estimate.samples.zero?

      low, high = estimate.space_interval
      return "±#{bytes((high - low) / 2)}" if estimate.samples >= SYMMETRIC_FROM

      range(low, high)
    end

    # Two sizes in the unit of the larger one: "1.5 – 7.0 MiB".
    def range(low, high, sign: false)
      unit = scale([low.abs, high.abs].max)
      "#{in_unit(low, unit, sign)} – #{in_unit(high, unit, sign)} #{UNITS[unit]}"
    end

    # From so many samples on the limits lie about as far on either side.
    SYMMETRIC_FROM = 20

    # "models/user.rb:12 User#name": the place of a group, or its name.
    def place(key, room = nil)
      return name(key, room) unless key.is_a?(Place)
      return name(key.label || "", room) if key.path.empty?

      path = path(key.path)
      line = key.line.to_i > 0 ? ":#{key.line}" : ""
      label = key.label ? " #{key.label}" : ""
      return "#{path}#{line}#{label}" if room.nil? || (path + line + label).length <= room

      path = shorten_path(path, [room - line.length - label.length, room * 2 / 3 - line.length].max)
      path + line + cut(label, room - path.length - line.length)
    end

    # A group in a sentence: "models/user.rb:12 `User#name`", "`String`".
    def subject(key)
      return "`#{name(key)}`" unless key.is_a?(Place)

      label = "`#{key.label}`" if key.label
      key.path.empty? ? label.to_s : [place(Place.new(key.path, key.line, nil)), label].compact.join(" ")
    end

    # Where a gem, Ruby's library or the application is does not matter.
    def path(path)
      return path.delete_prefix(@root) if @root && path.start_with?(@root) && path.length > @root.length

      path[GEM_PATH, 1] || path[RUBY_PATH, 1] || path
    end

    # The lines of a table.  +columns+: title, :left or :right for each; the last
    # is not padded.  The block, if any, makes a row's last cell, given the room
    # that is left for it.
    def table(columns, rows)
      widths = columns.each_index.map do |index|
        [columns[index][0], *rows.map { |cells| cells[index].to_s }].map(&:length).max
      end
      room = [width - widths[0..-2].sum { |columns_width| columns_width + 2 }, PLACE_MIN].max
      rows = rows.map { |cells| cells[0..-2] << place(cells.last, room) }
      [columns.map(&:first), *rows].map { |cells| line(cells, columns, widths) }
    end

    private

    # The unit that leaves fewer than four digits before the point.
    def scale(size)
      unit = 0
      while size >= 1023.95 && unit < UNITS.size - 1
        size /= 1024.0
        unit += 1
      end
      unit
    end

    def in_unit(value, unit, sign)
      number = format(unit.zero? ? "%.0f" : "%.1f", value.abs / 1024.0**unit)
      return number if number.to_f.zero?

      value < 0 ? "-#{number}" : "#{"+" if sign}#{number}"
    end

    def line(cells, columns, widths)
      padded = cells[0..-2].each_with_index.map do |cell, index|
        columns[index][1] == :left ? cell.to_s.ljust(widths[index]) : cell.to_s.rjust(widths[index])
      end
      [*padded, cells.last].join("  ").rstrip
    end

    def name(text, room = nil)
      text = "(unknown)" if text.nil? || text.empty?
      room ? cut(text, room) : text
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
