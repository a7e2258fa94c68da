# frozen_string_literal: true

module HeapSample
  # An Account as text: a table of its parts.
  class AccountText
    # With an +earlier+ Account the table has the changes; +since+: since when, as text.
    def initialize(account, layout, earlier: nil, since: nil)
      @account = account
      @layout = layout
      @earlier = earlier
      @since = since
    end

    # Lines of text.
    def lines
      changes = @earlier ? @account.since(@earlier) : {}
      shown = @account.parts.reject { |name, bytes| bytes.zero? && changes[name].to_i.zero? }
      columns = [["bytes", :right], *([["share", :right, 1]] if rss), *([["change", :right]] if @earlier), ["where", :left]]
      rows = shown.map do |name, bytes|
        change = changes[name] ? @layout.bytes(changes[name], sign: true) : "?"
        [@layout.bytes(bytes), *(@layout.percent(bytes / rss.to_f) if rss), *(change if @earlier), Account::PARTS[name]]
      end
      [*@layout.title(title), *@layout.table(columns, rows), *@layout.sentence(beside)]
    end

    private

    def rss = @account.rss

    def title
      return "Memory of the process (RSS is not known, because /proc could not be read; some of these parts may not be resident):" unless rss

      change = ", #{@layout.bytes(rss - @earlier.rss, sign: true)} #{@since}" if @earlier&.rss
      "Memory of the process: RSS #{@layout.bytes(rss)}#{change}"
    end

    # What must not be added to the above.
    def beside
      parts = []
      parts << "PSS #{@layout.bytes(@account.pss)}" if @account.pss
      parts << [@account.allocator, own].compact.join(", virtual: ")
      cost = @account.cost_ns
      "Other figures: #{parts.reject(&:empty?).join("; ")}#{format(" (read in %.1f ms)", cost / 1e6) if cost}"
    end

    def own
      sizes = @account.jemalloc
      Account::JEMALLOC.filter_map { |name| "#{@layout.bytes(sizes[name])} #{name}" if sizes[name] }.join(", ") unless sizes.empty?
    end
  end
end
