# frozen_string_literal: true

module HeapSample
  # What a profile says about itself, as text: of which process, when, at which
  # settings, what was dropped, what sampling cost, and how much there is in it.
  class Info
    # call-seq:
    #   Info.new(profile, name: nil, width: 120, style: nil)
    #
    # +name+ is what the profile is called, its file for instance; +style+: see
    # Layout.
    def initialize(profile, name: nil, width: Layout::WIDTH, style: nil)
      @profile = profile
      @info = profile.info
      @name = name
      @layout = Layout.new(width: width, style: style)
    end

    def to_s
      @layout.text([[*(@layout.title(@name) if @name), *lines]])
    end

    def lines
      [*Header.new(@info, @layout).lines, *facts.flat_map { |title, text| fact(title, text) }]
    end

    # The same as data.  +meta+ is all that the file says about itself, by the names that
    # doc/format.md freezes; its settings are here as well, since they are what one looks for.
    def to_h
      {name: @name, settings: @profile.meta["settings"], drops: @profile.meta["drops"], **counts, meta: @profile.meta}
    end

    def inspect
      "#<#{self.class} #{@name || @profile.inspect}>"
    end

    private

    # Of a title; and what its text has at least.
    WIDTH = 15
    ROOM_LEAST = 20
    private_constant :WIDTH, :ROOM_LEAST

    # Lines of a fact, which begin below each other.
    def fact(title, text)
      first, *rest = Layout.new(width: [@layout.width - WIDTH - 3, ROOM_LEAST].max).sentence(text)
      ["  #{title.ljust(WIDTH)} #{first}", *rest.map { |line| "#{" " * (WIDTH + 3)}#{line}" }]
    end

    def facts
      [["settings", settings], ["drops", drops], ["own memory", own], ["rows", rows]].reject { |_, text| text.nil? }
    end

    def settings
      values = @info.values["settings"]
      return unless values.is_a?(Hash)

      values.map { |name, value| "#{name.tr("_", "-")} #{value.nil? ? "none" : value}" }.join(", ")
    end

    def drops
      return unless @info.values["drops"].is_a?(Hash)
      return "none" if @info.drops.empty?

      @info.drops.map { |what, count| "#{@layout.count(count)} #{what}" }.join(", ")
    end

    def own
      bytes = @info.own_bytes or return
      share = (bytes / @info.account.rss.to_f if @info.account&.rss.to_i > 0)
      "#{@layout.bytes(bytes)}#{", #{@layout.percent(share)} of resident memory" if share}"
    end

    def rows
      counts = self.counts
      "#{@layout.count(counts[:rows])}, #{@layout.count(counts[:malloc_rows])} of them of malloc; " \
        "#{@layout.count(counts[:stacks])} stacks, #{@layout.count(counts[:frames])} frames"
    end

    def counts
      table = @profile.table
      {rows: table.size, malloc_rows: table.count { |row| row[Columns::MALLOC] },
       stacks: table.map { |row| row[Columns::STACK] }.uniq.size, frames: @profile.stacks.frame_count}
    end
  end
end
