# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A ProcessDiagnosis as text: the verdict in a sentence, the evidence in two, and what to do next.
  class ProcessDiagnosisText
    FINDINGS = 5
    COLUMNS = [["", :right], ["grew", :right], ["per hour", :right], ["objects", :right, 2], ["samples", :right, 3], ["class", :left, 1], ["line", :left]]
    WHAT = {leak: "It leaks", threads: "Threads or fibers pile up", native: "Native code leaks"}
    ENDED = "Threads that have ended are kept"
    # The part of what grew that came after the walk, from which on that is said: where the walk named a holder, and where not.
    UNSEEN_TOLD = 0.8
    UNSEEN = 0.5
    # References that say whose storage it is, and not what in it.
    STORAGE = /\A(?:fiber storage of Fiber|thread variables of Thread)\z/
    HOW_SURE = {proved: "proved", very_likely: "very likely"}
    private_constant :COLUMNS, :ENDED, :UNSEEN, :UNSEEN_TOLD, :STORAGE

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
    end

    def to_s = @layout.text([head, answer, why, table, stack, advised])

    def lines(_ = nil) = [*answer, *why]

    def summary = @layout.subject(sentence)

    # The verdict in one sentence.
    def sentence
      return too_few unless enough?
      return leak if @diagnosis.leak?
      return unsettled if @diagnosis.unsettled?

      send(kind)
    end

    # What speaks for it, an Array of sentences.
    def evidence
      return [] unless enough?

      [*(settled_grew if leading), *(rss_grew if @diagnosis.accounts?), *(beside_lines if @diagnosis.leak?), *(walked_early if leading),
       *(steps if kind == :bloat), *(held if kind == :fragmentation)]
    end

    # "12 major GCs left alive": what was looked at.
    def looked_at
      return "#{settled.judged} major GCs left alive" if settled.by_majors?

      settled.by_gcs? ? "some GCs left alive (too few major ones have looked at it)" : "is in use (hardly a GC has looked at it)"
    end

    # What to do next, an Array of sentences.
    def advice
      return ["Sample for longer, or more often: every=60 in RUBY_HEAP_SAMPLE writes a profile each minute."] unless enough?
      return unsettled_advice if @diagnosis.unsettled?

      kind == :steady ? [] : send(:"#{kind}_advice")
    end

    private

    %i[kind findings settled rss in_use enough? least series].each { |name| class_eval("def #{name} = @diagnosis.#{name}", __FILE__, __LINE__) }

    def leading = @diagnosis.shown_findings.first

    # What is judged: where no account says how large the process is, what GCs left alive stands for it.
    def memory = @diagnosis.accounts? ? "RSS" : "what stays"

    def head
      about = [series.describe, *@diagnosis.info.title].join(", ")
      [*@layout.title("Diagnosis: #{about}"), *series.warnings.flat_map { |warning| @layout.sentence("Warning: #{warning}") }]
    end

    def answer = @layout.sentence(sentence)
    def why = evidence.flat_map { |one| @layout.sentence(one) }
    def advised = advice.flat_map { |one| @layout.sentence("Next: #{one}") }

    def leak
      return crowd if kind == :threads && @diagnosis.crowd

      sure = "#{@diagnosis.ended_threads? ? ENDED : WHAT.fetch(kind)}, #{HOW_SURE.fetch(@diagnosis.grade)}"
      return "#{sure}: #{bytes(@diagnosis.mapped.grew)} in #{time} came to stay in memory that C code maps by itself, beside Ruby's heap and malloc." if @diagnosis.mapped?
      return "#{sure}: #{memory} rose by #{bytes(rss.grew)} in #{time}. No line has samples enough to be named." unless leading

      "#{sure}: #{amount(leading)} came to stay at #{where(leading)}#{kept_by}."
    end

    # "Threads pile up, proved: 25 → 647, made at app/x.rb:12."
    def crowd
      crowd = @diagnosis.crowd
      at = ", made at #{@layout.subject(crowd.place)}" if crowd.place
      "#{crowd.kind.capitalize} pile up, #{HOW_SURE.fetch(@diagnosis.grade)}: #{@layout.count(crowd.before)} → #{@layout.count(crowd.now)}#{at}#{kept_by if of_threads?}."
    end

    # Is what grows most what stands for threads and fibers?
    def of_threads? = leading&.holder&.kept? && Finding::THREAD_CLASSES.match?(leading.class_name.to_s)

    def unsettled
      at = leading ? " Most of what stays so far comes from #{where(leading)}#{kept_by}." : ""
      return "It has grown lately, and did not at first: a leak that began, or a long job. #{memory} rose by #{bytes(rss.grew)} in #{time}.#{at}" if @diagnosis.lately?

      "It grows all along, and what of it stays is not settled yet: #{memory} rose by #{bytes(rss.grew)} in #{time}.#{at}"
    end

    def bloat
      peak = @diagnosis.peak
      what = peak ? "which peaks of memory made, most at #{@layout.subject(peak.line)}" : "and what is in use does not grow"
      "No leak is seen; it is bloat: #{memory} rose by #{bytes(rss.grew)} in #{time} and stays, #{what}."
    end

    def fragmentation
      free = bytes(@diagnosis.free.grew)
      part = @diagnosis.free.grew > rss.grew ? "free memory between what lives by #{free}" : "#{free} of that is free memory between what lives"
      "No leak is seen; it is fragmentation: #{memory} rose by #{bytes(rss.grew)} in #{time}, and #{part}."
    end

    def steady
      return "No growth above #{bytes(least)}: #{memory} is #{bytes(@diagnosis.rss_now)}, #{signed(rss.grew)} in #{time}." if rss.grew < 2 * least

      rose = "No leak is seen: #{memory} rose by #{bytes(rss.grew)} in #{time}"
      return "#{rose}, and most of what came to stay is code that was loaded." if @diagnosis.loads_code?

      "#{rose} and levelled off, as what is in use did: a warm-up, or a cache that is full."
    end

    def too_few
      count = series.size
      "Too few profiles to say: #{count == 1 ? "there is 1" : "there are #{count}"} of this process, and #{ProcessDiagnosis::PROFILES_LEAST} are needed."
    end

    # "21.3 MiB in 33 s (+2.3 GiB an hour)", in the time from the warm-up to the last GC that was looked at.
    def amount(finding)
      "#{bytes(finding.grew)} in #{@layout.duration(@diagnosis.settled.seconds)} (#{signed(@diagnosis.per_hour(finding.grew))} an hour)"
    end

    # The application's line first, then the gem's.
    def where(finding)
      app, line = finding.app_line, finding.line
      app && [app.path, app.line] != [line.path, line.line] ? "#{@layout.subject(app)}, by #{@layout.subject(line)}" : @layout.subject(line)
    end

    def kept_by
      return held_by(leading.holder) if leading&.holder

      keeper = leading&.keeper or return ""

      Keeper.sure?(leading) ? ", kept in the #{keeper.what} that grows at #{where(keeper)}" : ", perhaps kept in the #{keeper.what} that grows at #{where(keeper)}"
    end

    # By a walk.
    def held_by(holder)
      return ", to which no reference leads: #{code_of_c} keeps it" unless holder.told? || leading.kind != :native
      return ", kept by nothing that was written: #{@layout.bare(holder.to_s(@layout))} (#{holder.root.meaning.delete_suffix(".").sub(/\A[A-Z](?=[a-z])/, &:downcase)})" unless holder.kept?

      ", kept by #{Printable.code(holder.to_s(@layout))}#{part_of(holder)}#{", in the #{leading.keeper.what} that grows at #{where(leading.keeper)}" if container?}"
    end

    # Does the container that grows say more than a holder that is storage for anything?
    def container? = leading.keeper && Keeper.sure?(leading) && (leading.holder.nil? || STORAGE.match?(leading.holder.edge.name))

    # Where it does not keep nearly all, as far as is known.
    def part_of(holder)
      return ", which keeps the #{Printable.code(@layout.name(holder.owner))}s that it was made for" if holder.owner
      return " (#{@layout.percent(holder.share)} of it)" if holder.share < 0.9 && holder.share >= FindingHolders::SHARE_LEAST

      " (#{@layout.percent(holder.share_of_told)} of what is known to be kept; most are blocks of C code that tell no owner)" if holder.share < 0.9
    end

    def code_of_c = library ? "C code of #{Printable.code(@layout.name(library))}" : "C code"
    def library = leading.whole.libraries.max_by { |_, space| space }&.first

    def settled_grew
      parts = leading.course.parts.map { |part| signed(part) }
      low, high = leading.interval
      how = leading.steady? ? "all along#{few_samples}" : "unevenly over time"
      text = "What #{looked_at} of it grew by #{@layout.range(low, high)}, #{how}: in four equal parts of the time #{parts.join(", ")}."
      findings.size > 1 ? "#{text} It is #{percent_of_all([leading])} of all that grew#{beside}." : text
    end

    def few_samples = leading.many_samples? ? "" : " as far as #{@layout.count(leading.samples)} samples can tell"

    def percent_of_all(some) = @layout.percent(some.sum(&:grew) / findings.sum(&:grew))

    # What else it brings: what the same holder keeps, or where none is known what grows in step with it.
    def beside
      others = findings - [leading]
      if leading.holder&.kept?
        name = leading.holder.to_s(@layout)
        same = others.select { |finding| finding.holder&.to_s(@layout) == name }
        return same.any? ? "; with all that #{Printable.code(name)} keeps, #{percent_of_all([leading, *same])}" : ""
      end
      same = others.select { |finding| leading.in_step?(finding) }
      same.any? ? "; with what grows in step with it, #{percent_of_all([leading, *same])}" : ""
    end

    # A walk cannot know what came after it.
    def walked_early
      return if (leading.unseen || 0.0) < (leading.holder&.told? ? UNSEEN_TOLD : UNSEEN)

      "The walk that looked for what keeps it was made at #{series.walked.info.taken.utc.strftime("%T")} UTC, before #{@layout.percent(leading.unseen)} of it came. " \
        "heapsample why PID looks again, and why=1 does in each profile."
    end

    def rss_grew
      "RSS went from #{bytes(@diagnosis.rss_at_first)} to #{bytes(@diagnosis.rss_now)}, past the warm-up " \
        "#{rss.parts.map { |part| signed(part) }.join(", ")}."
    end

    # What lines do not tell: their memory is not sampled.
    def beside_lines
      part = @diagnosis.beside_lines or return
      "Of that #{signed(part.bytes)} is in #{part.name}."
    end

    def steps
      peak = @diagnosis.peak or return "Most of it came at once: a peak of memory was in use, and was freed, but its pages stay with the process."

      "At #{peak.info.taken.utc.strftime("%F %T")} UTC #{bytes(peak.bytes)} were in use, #{@layout.size(peak.estimate)} #{@layout.bracketed(peak.estimate)} of it made at " \
        "#{@layout.subject(peak.line)}. Such memory is freed, but its pages stay with the process."
    end

    # "40.0 MiB ±9.0 MiB of it is free on heap pages, and held by what lives there: 38.1 MiB by app/x.rb:3 (none of it pinned)."
    def held
      top = @diagnosis.holders or return
      lines = top.map { |entry| "#{@layout.size(entry.estimate)} by #{@layout.subject(entry.key)} (#{pinned(entry.group)})" }
      "#{@layout.size(top.total)} #{@layout.bracketed(top.total)} of it is free on heap pages, and held by what lives there: #{lines.join(", ")}."
    end

    def pinned(group)
      share = group.holds_free_pinned / group.holds_free.space
      share < 0.01 ? "none of it pinned" : "#{@layout.percent(share)} pinned"
    end

    def unsettled_advice
      return ["Let it run longer: each major GC and each profile makes the answer surer."] if settled.by_majors?

      ["Major GCs are too few (#{@diagnosis.info.gc_major || "none"} so far). Let it run longer, or let the sampler ask for some: gc=1% in RUBY_HEAP_SAMPLE."]
    end

    def leak_advice
      return ["Sample with a shorter interval, or for longer, so that lines can be named."] unless leading

      holder, keeper = leading.holder, leading.keeper
      return ["Look at what is added at #{@layout.subject(keeper.app_line || keeper.line)} and never taken out."] if container?
      return ["Look at what is added to #{Printable.code(holder.to_s(@layout))} and never taken out. heapsample why shows the whole way."] if holder&.kept?

      what = leading.class_name ? "#{Printable.code(@layout.name(leading.class_name))}s" : "memory"
      ["Look at what keeps the #{what} that #{@layout.subject(leading.app_line || leading.line)} makes: a constant, a class variable, a global list, a closure."]
    end

    def threads_advice
      return ended_advice if @diagnosis.ended_threads?

      place = @diagnosis.crowd&.place || (leading.app_line || leading.line if leading)
      at = place ? " at #{@layout.subject(place)}" : ""
      ["Look for threads and fibers that are started#{at} and wait for ever: end them, or use a pool."]
    end

    # A thread's stack goes with its Thread object.
    def ended_advice
      holder = leading&.holder
      from = holder&.kept? ? Printable.code(holder.to_s(@layout)) : "the list that keeps them"
      ["They have ended, and keep their stacks and results while something refers to the Thread objects: take them out of #{from} when they are joined."]
    end

    # No line is known of it: a tracer says who maps.
    def mapped_advice
      ["Look for objects of C extensions, and for IO::Buffers, that have to be closed or freed. " \
       "bpftrace -e 'tracepoint:syscalls:sys_enter_mmap /pid == #{@diagnosis.info.process_id}/ { @[ustack] = sum(args.len); }' shows whose code maps memory."]
    end

    def native_advice
      return mapped_advice if @diagnosis.mapped?
      return leak_advice if leading&.holder&.kept?

      ["#{leading && library ? Printable.code(@layout.name(library)) : "A library"} asks for this memory and does not give it back: look for a newer version of its gem, " \
       "and for objects of it that have to be closed."]
    end

    def bloat_advice
      at = @diagnosis.peak&.then { |peak| " at #{@layout.subject(peak.line)}" }
      ["Make the peak#{at} smaller: read and write in parts, take records in batches.#{" heapsample churn shows which lines allocate most." unless at}"]
    end

    def fragmentation_advice = ["GC.compact, fewer threads, or a restart now and then give it back. heapsample top --free shows who holds heap pages."]

    def table
      shown = @diagnosis.shown_findings.first(FINDINGS)
      return [] if shown.size < 2

      rows = shown.each_with_index.map do |finding, index|
        [@layout.rank(index + 1, finding.samples < Finding::SAMPLES_LEAST), signed(finding.grew), signed(@diagnosis.per_hour(finding.grew)),
         @layout.count(finding.objects), @layout.count(finding.samples), @layout.name(finding.class_name || ClassMix::MALLOC, ClassMix::LENGTH),
         finding.app_line || finding.line]
      end
      [*@layout.title("What grew, by the application's line:"), *@layout.table(COLUMNS, rows), *@layout.more(@diagnosis.shown_findings.size - shown.size)]
    end

    # How most of it came: of the first, or where stacks are asked for of each that is shown.
    def stack
      shown = @diagnosis.shown_findings.first(@layout.stacks? ? FINDINGS : 1)
      StackText.section(shown.each_with_index.map { |finding, index| [shown.size > 1 ? index + 1 : "it", finding.stack] }, @layout)
    end

    def time = @layout.duration(@diagnosis.seconds)
    def bytes(value) = @layout.bytes(value)
    def signed(value) = @layout.bytes(value, sign: true)
  end
end
