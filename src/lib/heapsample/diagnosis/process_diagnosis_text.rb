# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A ProcessDiagnosis as text: the verdict in a sentence, the evidence in two, and what to do next.
  class ProcessDiagnosisText
    FINDINGS = 5
    COLUMNS = [["", :right], ["grew", :right], ["per hour", :right], ["objects", :right, 2], ["samples", :right, 3], ["class", :left, 1], ["line", :left]]
    # The part of what grew that came after the walk, from which on that is said: where the walk named a holder, and where not.
    UNSEEN_TOLD = 0.8
    UNSEEN = 0.5
    # References that say whose storage it is, and not what in it.
    STORAGE = /\A(?:fiber storage of Fiber|thread variables of Thread)\z/
    private_constant :COLUMNS, :UNSEEN, :UNSEEN_TOLD, :STORAGE

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
    end

    def to_s = @layout.text([head, answer, why, table, stack, advised])

    def lines(_ = nil) = [*answer, *why]

    def summary = @layout.subject(sentence)

    # The verdict in one sentence.
    def sentence
      return "Leak (#{@diagnosis.grade}): #{leak}" if @diagnosis.leak?
      return "Cannot tell: #{enough? ? unknown : too_few}" if @diagnosis.unknown?

      "No leak found: #{send(kind)}"
    end

    # What speaks for it, an Array of sentences.
    def evidence
      return [] unless enough?

      [*(survivors_grew if leading), *(rss_grew if @diagnosis.accounts?), *(beside_lines if @diagnosis.leak?), *(walked_early if leading),
       *(steps if kind == :bloat), *(held if kind == :fragmentation), *(detectable if @diagnosis.grade == :none)]
    end

    # "that survived 12 major GCs": which memory was judged.
    def survived
      return "that survived #{survivors.judged} major GCs" if survivors.by_majors?

      survivors.by_gcs? ? "that survived some GCs (too few major GCs have run)" : "that is live or garbage (hardly any GC has run)"
    end

    # What to do next, an Array of sentences.
    def advice
      return ["Sample for longer, or more often: every=60 in RUBY_HEAP_SAMPLE writes a profile each minute."] unless enough?
      return unknown_advice if @diagnosis.unknown?

      kind == :steady ? [] : send(:"#{kind}_advice")
    end

    private

    %i[kind findings survivors rss in_use enough? least series].each { |name| class_eval("def #{name} = @diagnosis.#{name}", __FILE__, __LINE__) }

    def leading = @diagnosis.shown_findings.first

    # What is judged: where no account says how large the process is, what GCs left alive stands for RSS.
    def memory = @diagnosis.accounts? ? "RSS" : "retained memory"

    def head
      about = [series.describe, *@diagnosis.info.title].join(", ")
      [*@layout.title("Diagnosis: #{about}"), *series.warnings.flat_map { |warning| @layout.sentence("Warning: #{warning}") }]
    end

    def answer = @layout.sentence(sentence)
    def why = evidence.flat_map { |one| @layout.sentence(one) }
    def advised = advice.flat_map { |one| @layout.sentence("Next: #{one}") }

    def leak
      return crowd if kind == :threads && @diagnosis.crowd
      return "memory that C code maps by itself, outside Ruby's heap and malloc, grew by #{bytes(@diagnosis.mapped.grew)} in #{time}." if @diagnosis.mapped?
      return "#{"ended threads are retained, and " if @diagnosis.ended_threads?}#{memory} grew by #{bytes(rss.grew)} in #{time}. No line has enough samples to be named." unless leading

      line = @diagnosis.ended_threads? ? "threads that have ended, from #{where(leading)}, retain" : "#{where(leading)}#{"," if gem_line?(leading)} retains"
      "#{line} #{amount(leading)}.#{retained_by}#{doubt}"
    end

    # A likely leak may still be something else.
    def doubt
      " A cache that takes longer than #{@layout.duration(survivors.seconds)} to fill looks the same." if @diagnosis.grade == :likely
    end

    # "threads grew from 25 to 647, created at app/x.rb:12."
    def crowd
      crowd = @diagnosis.crowd
      at = ", created at #{@layout.subject(crowd.place)}" if crowd.place
      "#{crowd.kind} grew from #{@layout.count(crowd.before)} to #{@layout.count(crowd.now)}#{at}.#{retained_by if of_threads?}"
    end

    # Is what grows most what stands for threads and fibers?
    def of_threads? = leading&.holder&.kept? && Finding::THREAD_CLASSES.match?(leading.class_name.to_s)

    # "RSS grew by 12.0 MiB in 3 min".
    def grew = "#{memory} grew by #{bytes(rss.grew)} in #{time}"

    def unknown
      at = leading ? " Most of the retained memory so far is from #{where(leading)}.#{retained_by}" : ""
      return "#{grew}, but not at first. A leak that began and a long job look the same.#{at}" if @diagnosis.lately?

      why = survivors.by_majors? ? "the samples do not show yet that it is retained" : "too few major GCs have run to show whether it is retained"
      "#{grew}, but #{why}.#{at}"
    end

    def bloat
      peak = @diagnosis.peak
      peak ? "#{grew} because of peaks of memory, the largest at #{@layout.subject(peak.line)}." : "#{grew} and did not fall, but live memory did not grow."
    end

    def fragmentation
      free = bytes(@diagnosis.free.grew)
      @diagnosis.free.grew > rss.grew ? "#{grew}, and free memory between live objects by #{free}." : "#{grew}, and #{free} of it is free memory between live objects."
    end

    def steady
      return "#{memory} is #{bytes(@diagnosis.rss_now)}, #{signed(rss.grew)} in #{time}." if rss.grew < 2 * least
      return "#{grew}, and most of the retained memory is loaded code." if @diagnosis.loads_code?

      "#{grew} and levelled off, as live memory did: a warm-up, or a cache that is full."
    end

    def too_few
      count, least = series.size, ProcessDiagnosis::PROFILES_LEAST
      count < least ? "this process has #{count == 1 ? "1 profile" : "#{count} profiles"}, and #{least} are needed." : "too few GCs have run between the #{count} profiles."
    end

    # "21.3 MiB more after 33 s (+2.3 GiB/hour)", in the time from the warm-up to the last GC that was looked at.
    def amount(finding)
      "#{bytes(finding.grew)} more after #{@layout.duration(survivors.seconds)} (#{signed(@diagnosis.per_hour(finding.grew))}/hour)"
    end

    # The application's line first, then the gem's.
    def where(finding) = gem_line?(finding) ? "#{@layout.subject(finding.app_line)}, by #{@layout.subject(finding.line)}" : @layout.subject(finding.line)

    # Is the line not the application's own?
    def gem_line?(finding)
      app, line = finding.app_line, finding.line
      app && [app.path, app.line] != [line.path, line.line]
    end

    # A sentence after the verdict, with a space in front; empty where nothing is known.
    def retained_by
      return held_by(leading.holder) if leading&.holder

      keeper = leading&.keeper or return ""

      " #{Keeper.sure?(leading) ? "Retained" : "Perhaps retained"} in the #{keeper.what} that grows at #{where(keeper)}."
    end

    # By a walk.
    def held_by(holder)
      return " Held by #{code_of_c} (no Ruby reference found)." unless holder.told? || leading.kind != :native
      return " Not retained by a variable or constant of the program, but by #{@layout.bare(@layout.holder(holder))}: #{meaning(holder.root)}" unless holder.kept?

      " Retained by #{Printable.code(@layout.holder(holder))}#{part_of(holder)}#{", in the #{leading.keeper.what} that grows at #{where(leading.keeper)}" if container?}."
    end

    # Does the container that grows say more than a holder that is storage for anything?
    def container? = leading.keeper && Keeper.sure?(leading) && (leading.holder.nil? || STORAGE.match?(leading.holder.edge.name))

    # What a root is, to go on with after a colon.
    def meaning(root) = root.meaning.sub(/\A[A-Z](?=[a-z])/, &:downcase)

    # Where the holder does not retain nearly all of the memory, as far as is known.
    def part_of(holder)
      return ", which retains the #{Printable.code(@layout.name(holder.owner))}s that own the memory" if holder.owner
      return " (#{@layout.percent(holder.share)} of it)" if holder.share < 0.9 && holder.share >= FindingHolders::SHARE_LEAST

      " (#{@layout.percent(holder.share_of_told)} of the memory with a known owner; most is C memory without one)" if holder.share < 0.9
    end

    def code_of_c = library ? "C code of #{Printable.code(@layout.name(library))}" : "C code"
    def library = leading.whole.libraries.max_by { |_, space| space }&.first

    def survivors_grew
      parts = leading.course.parts.map { |part| signed(part) }
      low, high = leading.interval
      how = leading.steady? ? "in every quarter of the time#{few_samples}" : "unevenly over the quarters of the time"
      text = "Memory from this line #{survived} grew by #{@layout.range(low, high)} (95% CI), #{how}: #{parts.join(", ")}."
      findings.size > 1 ? "#{text} This is #{percent_of_all([leading])} of all growth#{together}." : text
    end

    def few_samples = leading.many_samples? ? "" : ", by only #{@layout.count(leading.samples)} samples"

    def percent_of_all(some) = @layout.percent(some.sum(&:grew) / findings.sum(&:grew))

    # What else grows with it: what the same holder retains, or where none is known what grows in step with it.
    def together
      others = findings - [leading]
      if leading.holder&.kept?
        name = @layout.holder(leading.holder)
        same = others.select { |finding| finding.holder && @layout.holder(finding.holder) == name }
        return same.any? ? "; together with all else that #{Printable.code(name)} retains, #{percent_of_all([leading, *same])}" : ""
      end
      same = others.select { |finding| leading.in_step?(finding) }
      same.any? ? "; together with the lines that grow in step with it, #{percent_of_all([leading, *same])}" : ""
    end

    # A walk cannot know what came after it.
    def walked_early
      return if (leading.unseen || 0.0) < (leading.holder&.told? ? UNSEEN_TOLD : UNSEEN)

      "The last heap walk (#{series.walked.info.taken.utc.strftime("%T")} UTC) is older than #{@layout.percent(leading.unseen)} of this growth. " \
        "Run heapsample why #{@diagnosis.info.process_id}."
    end

    def rss_grew
      "RSS went from #{bytes(@diagnosis.rss_at_first)} to #{bytes(@diagnosis.rss_now)}; in the quarters of the time after the warm-up " \
        "#{rss.parts.map { |part| signed(part) }.join(", ")}."
    end

    # The part that no line has: it is not sampled.
    def beside_lines
      part = @diagnosis.beside_lines or return
      "#{signed(part.bytes)} of it is in #{part.name}."
    end

    def steps
      peak = @diagnosis.peak or return "Most of it came at once: memory was live for a while and was then freed, but its pages stay with the process."

      "At #{peak.info.taken.utc.strftime("%F %T")} UTC #{bytes(peak.bytes)} were in use, #{@layout.size(peak.estimate)} #{@layout.bracketed(peak.estimate)} of it made at " \
        "#{@layout.subject(peak.line)}. Such memory is freed, but its pages stay with the process."
    end

    # "40.0 MiB ±9.0 MiB of it is free on heap pages, and held by what lives there: 38.1 MiB by app/x.rb:3 (none of it pinned)."
    def held
      top = @diagnosis.holders or return
      lines = top.map { |entry| "#{@layout.size(entry.estimate)} by #{@layout.subject(entry.key)} (#{pinned(entry.group)})" }
      "#{@layout.size(top.total)} #{@layout.bracketed(top.total)} of it is free on heap pages, and held by what lives there: #{lines.join(", ")}."
    end

    # Without major GCs no leak is found.
    def detectable
      "A steady leak of #{bytes(@diagnosis.detectable)}/hour or more on one line would have been found, 19 times in 20." if survivors.by_majors?
    end

    def pinned(group)
      share = group.holds_free_pinned / group.holds_free.space
      share < 0.01 ? "none of it pinned" : "#{@layout.percent(share)} pinned"
    end

    def unknown_advice
      return ["Let it run longer: each major GC and each profile adds evidence."] if survivors.by_majors?

      ["Let it run longer: #{@diagnosis.info.gc_major || "no"} major GCs so far are too few. Or let the sampler start some: diagnose=1% in RUBY_HEAP_SAMPLE."]
    end

    def leak_advice
      return ["Sample with a shorter interval, or for longer, so that lines can be named."] unless leading

      holder, keeper = leading.holder, leading.keeper
      return ["Look at what is added at #{@layout.subject(keeper.app_line || keeper.line)} and never taken out."] if container?
      return ["Look at what is added to #{Printable.code(@layout.holder(holder))} and never taken out. heapsample why shows the whole way."] if holder&.kept?

      what = leading.class_name ? "#{Printable.code(@layout.name(leading.class_name))}s" : "memory"
      ["Look at what retains the #{what} that #{@layout.subject(leading.app_line || leading.line)} allocates: a constant, a class variable, a global list, a closure."]
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
      from = holder&.kept? ? Printable.code(@layout.holder(holder)) : "the list that retains them"
      ["A thread that has ended retains its stack and result while something refers to its Thread object: remove the objects from #{from} when they are joined."]
    end

    # No line is known of it: a tracer shows which code maps.
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
      ["Make the peak#{at} smaller: read and write in parts, take records in batches.#{" heapsample top --value churn shows which lines allocate most." unless at}"]
    end

    def fragmentation_advice = ["GC.compact, fewer threads, or a restart now and then give it back. heapsample top --value holds_free shows which lines hold heap pages."]

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
