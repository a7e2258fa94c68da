# frozen_string_literal: true

module HeapSample
  # An About as text.
  class AboutText
    def initialize(about, layout)
      @about = about
      @info = about.profile.info
      @layout = layout
    end

    def to_s
      @layout.text([[*(@layout.title(@about.name) if @about.name), *lines]])
    end

    def lines(_ = nil)
      [*Header.new(@info, @layout).lines, *facts.flat_map { |title, text| fact(title, text) }]
    end

    def summary = @about.name || @about.profile.inspect

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
      counts = @about.counts
      "#{@layout.count(counts[:rows])}, #{@layout.count(counts[:malloc_rows])} of them of malloc; " \
        "#{@layout.count(counts[:stacks])} stacks, #{@layout.count(counts[:frames])} frames"
    end
  end
end
