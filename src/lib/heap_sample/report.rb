# frozen_string_literal: true

module HeapSample
  # A profile as text: what was sampled, what is in use by line and by class,
  # what is too young to say, what comes and goes, and a sentence that reads it.
  #
  # Figures are estimates of heap slots in bytes and objects, intervals are at
  # 95%, ages and lifetimes are in GCs.
  class Report
    TOP = 20
    CLASSES = 10
    CHURN = 5
    # Before the rank of a row that has few samples.
    WEAK_MARK = "~"

    TITLES = {
      inuse: "In use (found alive by the last completed mark)",
      young: "Young (born since the last completed mark; none is known to be in use)"
    }.freeze
    MEASURES = {inuse: "in use", young: "young"}.freeze

    # call-seq:
    #   Report.new(profile, by: :line, top: 20, width: 120, root: Dir.pwd)
    #
    # +by+: :line, :method, :file, :class or :type; +top+: rows in a table;
    # +width+: characters in a line; +root+: paths below it are shortened.
    # Raises ArgumentError if one of them makes no sense.
    def initialize(profile, by: :line, top: TOP, width: Layout::WIDTH, root: Dir.pwd)
      Report.check(top: top, width: width)
      @profile = profile
      @info = profile.info
      @by = by
      @top = top
      @layout = Layout.new(width: width, root: root)
      @groups = profile.groups(by)
      @total = @groups.total
      @measure = @total.inuse.zero? && !@total.young.zero? ? :young : :inuse
    end

    def self.check(**options) # :nodoc:
      options.each do |name, value|
        next if value.is_a?(Integer) && value > 0

        raise ArgumentError, "#{name} is a positive Integer, not #{value.inspect}"
      end
    end

    def to_s
      sections = [Header.new(@info, @layout).lines, main_table]
      sections << class_table unless @by == :class
      sections << remainder << churn << account << [conclusion]
      "#{sections.reject(&:empty?).map { |lines| lines.join("\n") }.join("\n\n")}\n"
    end

    private

    def live(group)
      group.public_send(@measure)
    end

    def main_table
      total = live(@total)
      title = "#{TITLES[@measure]}, by #{@by}: #{amount(total)}"
      return [title] if total.zero?

      largest = @groups.largest(@measure, @top)
      [title, *figures(largest), *hidden(largest), *legend(largest)]
    end

    COLUMNS = [["", :right], ["bytes", :right], ["95% interval", :right], ["objects", :right],
               ["samples", :right], ["share", :right], ["age", :right]].freeze

    def figures(groups)
      classes = @by != :class
      rows = groups.each_with_index.map do |group, index|
        estimate = live(group)
        [rank(index + 1, estimate), @layout.bytes(estimate.space), @layout.interval(estimate),
         @layout.count(estimate.objects), @layout.count(estimate.samples), share(estimate, live(@total)),
         age(group), *(class_names(group) if classes), group.key]
      end
      @layout.table([*COLUMNS, *([["class", :left]] if classes), [@by.to_s, :left]], rows)
    end

    def rank(number, estimate)
      "#{WEAK_MARK if estimate.weak?}#{number}"
    end

    def share(estimate, total)
      total.space > 0 ? @layout.percent(estimate.space / total.space.to_f) : ""
    end

    def age(group)
      age = @measure == :inuse && group.age(@info.gc_count)
      age ? format("%.1f", age) : "-"
    end

    CLASS_LENGTH = 28

    # The largest class of a group, and how much there is beside it.
    def class_names(group)
      (reference, space), *others = group.classes
      name = class_name(reference)
      name = "#{name[0, CLASS_LENGTH - 1]}…" if name.length > CLASS_LENGTH
      return name if others.empty?

      share = space / (space + others.sum { |_, other| other })
      "#{name} #{(share * 100).round}% +#{others.size}"
    end

    def class_name(reference)
      name = @profile.text(reference)
      name.empty? ? "(unknown)" : name
    end

    def hidden(shown)
      rest = @groups.count { |group| !live(group).zero? } - shown.size
      rest > 0 ? ["and #{@layout.count(rest)} more"] : []
    end

    def legend(groups)
      return [] unless groups.any? { |group| live(group).weak? }

      ["#{WEAK_MARK} fewer than #{Estimate::WEAK_BELOW} samples: weak"]
    end

    def class_table
      return [] if live(@total).zero?

      groups = @profile.groups(:class)
      rows = groups.largest(@measure, [@top, CLASSES].min).each_with_index.map do |group, index|
        estimate = live(group)
        [rank(index + 1, estimate), @layout.bytes(estimate.space), @layout.interval(estimate),
         @layout.count(estimate.objects), @layout.count(estimate.samples), share(estimate, live(@total)),
         age(group), group.key]
      end
      ["By class:", *@layout.table([*COLUMNS, ["class", :left]], rows)]
    end

    # What the tables leave out.
    def remainder
      lines = []
      if @measure == :inuse
        lines << "Young (born since the last completed mark, not in the tables): #{amount(@total.young)}"
      end
      lines << before_start
      lines.compact
    end

    # What is live and not of the profile is from before it, as near as the
    # slot counts tell: they have dead objects that no sweep has met.
    def before_start
      live, at_start = @info.live_bytes, @info.live_bytes_at_start
      return unless live && at_start

      left = (live - @total.inuse.space - @total.young.space).clamp(0, at_start)
      "(before start): about #{@layout.bytes(left)} of the slots that are allocated now, " \
        "of #{@layout.bytes(at_start)} when sampling started"
    end

    def churn
      groups = @groups.largest(:alloc, [CHURN, @top].min)
      return [] if groups.empty?

      rows = groups.each_with_index.map do |group, index|
        [rank(index + 1, group.alloc), @layout.bytes(group.alloc.space), @layout.interval(group.alloc),
         @layout.count(group.alloc.objects), @layout.percent(group.dead_share),
         group.lifetime ? format("%.1f", group.lifetime) : "-", group.key]
      end
      columns = [["", :right], ["bytes", :right], ["95% interval", :right], ["objects", :right],
                 ["dead", :right], ["lived", :right], [@by.to_s, :left]]
      ["Allocated since start, by #{@by}: #{amount(@total.alloc)}", *@layout.table(columns, rows)]
    end

    # Where the memory of the process is, and what it grows in.
    def account
      now, start = @info.account, @info.account_at_start
      return [] unless now
      return now.lines(@layout) unless start

      [*now.lines(@layout, start, "since sampling started"),
       Verdict.new(now, start, malloc: Verdict.malloc_of(@profile), layout: @layout).to_s]
    end

    # "120.4 MiB ±2.9 MiB in 1,234 objects, 240 samples".
    def amount(estimate)
      return "nothing sampled" if estimate.zero?

      "#{@layout.bytes(estimate.space)} #{bracketed(estimate)} in #{@layout.count(estimate.objects)} objects, " \
        "#{@layout.count(estimate.samples)} samples"
    end

    def bracketed(estimate)
      text = @layout.interval(estimate)
      text.start_with?("±") ? text : "(#{text})"
    end

    def conclusion
      group = @groups.largest(@measure, 1).first
      return nothing_found unless group

      estimate = live(group)
      kept = "#{@layout.bytes(estimate.space)} #{bracketed(estimate)} in #{@layout.rough_count(estimate.objects)} " \
             "#{objects(group)}, #{share(estimate, live(@total))} of what is #{MEASURES[@measure]}"
      weak = " Too few samples to rely on: sample longer, or at a smaller interval." if estimate.weak?
      "The largest: #{@layout.subject(group.key)} #{@measure == :inuse ? "keeps" : "made"} #{kept}.#{weak}"
    end

    def nothing_found
      "Nothing that was allocated since sampling started is known to be in use."
    end

    # "`String`s", or "objects, mostly `String`s".
    def objects(group)
      return "objects" if @by == :class

      (reference, space), *others = group.classes
      name = "`#{class_name(reference)}`s"
      return name if others.empty?

      space * 2 > space + others.sum { |_, other| other } ? "objects, mostly #{name}" : "objects of #{others.size + 1} classes"
    end
  end
end
