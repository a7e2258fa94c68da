# frozen_string_literal: true

module HeapSample
  # A profile as text: what was sampled, what is in use by line and by class,
  # what is too young to say, what comes and goes, and a sentence that reads it.
  #
  # Figures are estimates of bytes and objects, of heap slots and of what malloc
  # gave together; intervals are at 95%, ages and lifetimes are in GCs.
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
    MALLOC_TITLE = "In use (objects found alive by the last completed mark, and what malloc gave)"
    MEASURES = {inuse: "in use", young: "young"}.freeze
    KINDS = {both: "", slots: ", heap slots alone", malloc: ", malloc alone"}.freeze

    # call-seq:
    #   Report.new(profile, by: :line, kind: :both, top: 20, width: 120, root: Dir.pwd)
    #
    # +by+: :line, :method, :file, :class, :type, :function or :library; +kind+:
    # :slots, :malloc or :both; +top+: rows in a table; +width+: characters in a
    # line; +root+: paths below it are shortened.  Raises ArgumentError if one of
    # them makes no sense.
    def initialize(profile, by: :line, kind: :both, top: TOP, width: Layout::WIDTH, root: Dir.pwd)
      Report.check(top: top, width: width)
      @kind = kind
      @profile = profile
      @info = profile.info
      @by = by
      @top = top
      @layout = Layout.new(width: width, root: root)
      @groups = profile.groups(by, kind: kind)
      @total = @groups.total
      @malloc = profile.malloc? && kind != :slots
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
      sections << class_table unless @by == :class || @kind == :malloc
      sections << MallocSection.new(@profile, @layout, @top).lines if @malloc && @by != :function
      sections << remainder << churn << account << [conclusion]
      "#{sections.reject(&:empty?).map { |lines| lines.join("\n") }.join("\n\n")}\n"
    end

    private

    def live(group)
      group.public_send(@measure)
    end

    def main_table
      total = live(@total)
      title = "#{@malloc && @measure == :inuse ? MALLOC_TITLE : TITLES[@measure]}#{KINDS.fetch(@kind)}, by #{@by}: #{amount(total)}"
      return [title] if total.zero?

      largest = @groups.largest(@measure, @top)
      [title, *figures(largest), *hidden(largest), *legend(largest)]
    end

    def figures(groups)
      classes = @by != :class && @kind != :malloc
      rows = groups.each_with_index.map do |group, index|
        [*cells(group, index, @by), *(class_names(group) if classes), group.key]
      end
      @layout.table([*columns(@by), *([["class", :left]] if classes), [@by.to_s, :left]], rows)
    end

    def columns(by)
      names = ["", "bytes", "95% interval", *(%w[slots malloc] if sides?(by)), *("with buffers" if buffers?(by)),
               "objects", "samples", "share", "age"]
      names.map { |name| [name, :right] }
    end

    def cells(group, index, by)
      estimate = live(group)
      [rank(index + 1, estimate), @layout.bytes(estimate.space), @layout.interval(estimate),
       *([group.slots_space, group.malloc.space].map { |space| space > 0 ? @layout.bytes(space) : "-" } if sides?(by)),
       *((group.memsize > 0 ? @layout.bytes(group.memsize) : "-") if buffers?(by)),
       @layout.count(estimate.objects), @layout.count(estimate.samples), share(estimate, live(@total)), age(group)]
    end

    # Are there columns of slots and of malloc?  A class or a function is of one.
    def sides?(by)
      @malloc && @kind == :both && @measure == :inuse && !%i[class type function library].include?(by)
    end

    # What objects hold outside their slots is told by class: by line it would be
    # taken for malloc's part of that line, which may be another's.
    def buffers?(by)
      by == :class && @info.memsize? && @measure == :inuse
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

    # The largest class of a group, and how much there is beside it.  Malloc is
    # a class only where there is no other: it has a column of its own.
    def class_names(group)
      (reference, space), *others = object_classes(group)
      name = class_name(reference)
      name = "#{name[0, CLASS_LENGTH - 1]}…" if name.length > CLASS_LENGTH
      return name if others.empty?

      share = space / (space + others.sum { |_, other| other })
      "#{name} #{(share * 100).round}% +#{others.size}"
    end

    MALLOC = "(malloc)"

    def object_classes(group)
      return group.classes if group.malloc.zero?

      classes = group.classes.reject { |reference, _| @profile.text(reference) == MALLOC }
      classes.empty? ? group.classes : classes
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

      groups = @profile.groups(:class, kind: @kind)
      rows = groups.largest(@measure, [@top, CLASSES].min).each_with_index.map do |group, index|
        [*cells(group, index, :class), group.key]
      end
      ["By class:", *@layout.table([*columns(:class), ["class", :left]], rows)]
    end

    # What the tables leave out.
    def remainder
      return [] if @kind == :malloc

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

      left = (live - @total.slots_space - @total.young.space).clamp(0, at_start)
      "(before start): about #{@layout.bytes(left)} of the slots that are allocated now, " \
        "of #{@layout.bytes(at_start)} when sampling started"
    end

    def churn
      groups = @groups.largest(:alloc, [CHURN, @top].min)
      return [] if groups.empty?

      rows = groups.each_with_index.map do |group, index|
        [rank(index + 1, group.alloc), @layout.bytes(group.alloc.space), @layout.interval(group.alloc),
         @layout.count(group.alloc.objects), group.dead_share ? @layout.percent(group.dead_share) : "-",
         group.lifetime ? format("%.1f", group.lifetime) : "-", group.key]
      end
      columns = [["", :right], ["bytes", :right], ["95% interval", :right], ["objects", :right],
                 ["dead", :right], ["lived", :right], [@by.to_s, :left]]
      slots = ", heap slots alone" if @malloc && !@info.malloc_alloc_known?
      ["Allocated since start#{slots}, by #{@by}: #{amount(@total.alloc)}", *@layout.table(columns, rows)]
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

    # "`String`s", "objects, mostly `String`s", "`String`s and blocks of malloc".
    def objects(group)
      return "objects" if @by == :class

      slots = group.inuse.space - group.malloc.space
      return "blocks of malloc" if @measure == :inuse && group.malloc.space > 0.99 * group.inuse.space
      return slot_objects(group) if @measure != :inuse || group.malloc.zero?

      parts = [slot_objects(group), "blocks of malloc"]
      parts.reverse! if group.malloc.space > slots
      parts.join(" and ")
    end

    def slot_objects(group)
      (reference, space), *others = object_classes(group)
      name = "`#{class_name(reference)}`s"
      return name if others.empty?

      space * 2 > space + others.sum { |_, other| other } ? "objects, mostly #{name}" : "objects of #{others.size + 1} classes"
    end
  end
end
