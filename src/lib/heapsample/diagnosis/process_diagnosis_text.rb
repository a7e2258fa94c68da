# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A ProcessDiagnosis as text: the verdict in a sentence, the exact counts behind it, and for each leak a paragraph with its
  # lines and the next step.
  class ProcessDiagnosisText
    # Findings with a paragraph, and lines of each.
    FINDINGS = 3
    LINES = 5
    COLUMNS = [["grew", :right], ["95% interval", :right, 2], ["per hour", :right, 1], ["objects", :right, 3], ["samples", :right, 4], ["class", :left], ["line", :left]]
    COUNTS = {slots: "objects in heap slots", malloc: "malloc", mapped: "stacks and mappings", threads: "threads", fibers: "fibers"}
    # Parts of what is mapped.
    MAPPED = {"stacks" => "memory of thread and fiber stacks", "code_and_files" => "mapped files", "unattributed" => "memory that was mapped outside of malloc (mmap)"}
    # Why growth that is certain is no leak, and when more will be known.
    GUARDS = {
      few: "a quarter of the time had fewer than 3 major GCs, too few to say whether it goes on",
      late: "most of it is recent, and a long job looks the same", slows: "it slows down, as a cache that fills does",
      back: "it was as high before", steps: "it grew in a few steps, as caches and tables that double do", waves: "it rises and falls",
      load: "the work increased, and memory follows the work"
    }
    # Where all guards hold.
    SHORT = "it has grown steadily only for a short time"
    # What helps where there is no major GC, by ForcedWork#last.
    NO_MAJORS = {
      refused: "Enable GC in the program (GC.enable), or start a major GC there (GC.start).",
      over_budget: "Raise the share of diagnose= in RUBY_HEAP_SAMPLE, or start a major GC in the program (GC.start)."
    }
    # A step: what to do, and a command to paste or nil.
    Step = Struct.new(:sentence, :command) do
      def to_s = [sentence, command].compact.join(" ")
    end
    # A finding has such a part of what the samples found, or it has no paragraph.
    PARAGRAPH_LEAST = 0.05
    # What is most of it; and what a holder retains of it, or the part is printed.
    MOST = 0.5
    ALL_LEAST = 0.9
    # Where mapped memory grows, other memory that grew has a paragraph if it is such a part of that.
    OTHER_LEAST = 0.25
    # Below this resident share of malloc blocks, the resident bytes are printed, too.
    TOUCHED_LEAST = 0.75
    private_constant :COLUMNS

    # Process ids that are named.
    PIDS = 6

    # "11, 12, 13"; of many the first ones, and how many more there are.
    def self.pids(diagnosis)
      ids = diagnosis.members.map { |one| one.infos.last.process_id || "?" }
      [*ids.first(PIDS), *("#{ids.size - PIDS} more" if ids.size > PIDS)].join(", ")
    end

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
    end

    def to_s = @layout.text([head, answer, why, *paragraphs, *advised, gc.flat_map { |one| @layout.sentence(one) }])

    def lines(_ = nil) = [*answer, *why]

    def summary = @layout.subject(sentence)

    # The verdict in one sentence, or two.
    def sentence
      case @diagnosis.state
      when :confirmed, :likely then "Leak (#{@diagnosis.state}): #{what_grows}, steadily#{per_hour}.#{place}#{doubt}"
      when :grows then "Grows (certain): #{what_grows}. Not yet a leak: #{GUARDS.fetch(@diagnosis.guard, SHORT)}. Ask again in #{known_in}.#{place}"
      when :ended then "Ended: #{what_grows} until #{ended_at}, and not since, although work went on. A full cache or a finished job looks like this.#{place}"
      when :none then "No leak found. One of #{bytes(@diagnosis.detectable)}/hour or more would have been found (95%)."
      else "Cannot tell: #{unknown}"
      end
    end

    # What speaks for it, an Array of sentences.
    def evidence = [*counted, *(PiledUp.new(series, growing_threads.kind).sentences(@layout) if growing_threads), *limit, *(rss_parts unless @diagnosis.leak?)]

    # What GC costs, an Array of sentences.
    def gc = @diagnosis.gc_cost ? @diagnosis.gc_cost.sentences(@layout) : []

    # What to do next, an Array of sentences; a command is at the end.
    def advice = steps.map(&:to_s)

    # "retained by `X`", "at least 38.0% of it retained by `X`", "probably retained by `X`".
    def retained(finding)
      return "probably retained by #{holder(finding)}" if finding.holder.owner

      part = finding.share_held
      part >= ALL_LEAST ? "retained by #{holder(finding)}" : "at least #{@layout.percent(part)} of it retained by #{holder(finding)}"
    end

    # What else is known of a finding, an Array of sentences.
    def facts(finding)
      partly = finding.line.partly
      [*finding.entries&.sentences(@layout), *("At least #{bytes(partly.space)} of it is retained by #{Printable.code(@layout.holder(partly))}." if partly),
       *("#{bytes([finding.resident, 0].max)} of it is resident. The rest was allocated and never touched." if finding.resident < TOUCHED_LEAST * finding.space)]
    end

    # The same as Array of Step.
    def steps
      case @diagnosis.state
      when :none then []
      when :unknown then [Step.new(unknown_advice)]
      else [*([counted_step] if growing_threads || shown.empty? || @diagnosis.mapped?), *shown.map { |finding| finding_step(finding) }.uniq]
      end
    end

    # Findings with a paragraph.
    def shown
      @shown ||= if %i[none unknown].include?(@diagnosis.state) || growing_threads then []
                 else findings.select { |finding| finding.space >= [PARAGRAPH_LEAST * total, @diagnosis.mapped? ? OTHER_LEAST * @diagnosis.grew : 0].max }.first(FINDINGS)
                 end
    end

    private

    %i[findings growing counts series].each { |name| class_eval("def #{name} = @diagnosis.#{name}", __FILE__, __LINE__) }

    def head
      title = @diagnosis.title
      title = title.gsub(/\d+/, "N") if title && @diagnosis.members.size > 1
      about = [members, *title, "#{profiles}", series.span].join(", ")
      [*@layout.title("Diagnosis: #{about}"), *@diagnosis.members.flat_map(&:warnings).flat_map { |warning| @layout.sentence("Warning: #{warning}") }]
    end

    def profiles = @diagnosis.members.sum(&:size).then { |count| "#{count} profile#{"s" unless count == 1}" }

    # "process 4711", "4 processes (11, 12, 13, 14), the worst is 12".
    def members
      ids = @diagnosis.members.map { |one| one.infos.last.process_id || "?" }
      return "process #{ids.first}" if ids.size == 1

      judged = @diagnosis.judged.map { |one| one.infos.last.process_id }
      "#{ids.size} processes (#{ProcessDiagnosisText.pids(@diagnosis)})#{", the worst is #{judged.join(", ")}" if judged.size < ids.size}"
    end

    def answer = @layout.sentence(sentence)
    def why = evidence.flat_map { |one| @layout.sentence(one) }

    # "memory that survives major GCs grew by 21.3 MiB in 1 min 2 s", "threads grew from 25 to 647".
    def what_grows
      return threads if growing_threads

      return "#{MAPPED.fetch(@diagnosis.mapped_part, "mapped memory")} grew by #{bytes(@diagnosis.grew)} in #{time}" if @diagnosis.mapped?

      "memory that survives major GCs grew by #{bytes(@diagnosis.grew)} in #{time}"
    end

    def growing_threads = growing.find { |count| !count.bytes? }

    def threads
      verdict = growing_threads.verdict
      "#{growing_threads.kind} grew from #{@layout.count(verdict.size_before)} to #{@layout.count(verdict.size_after)} in #{time}"
    end

    # ", +1.2 GiB an hour (+1.1 – +1.3 GiB)"; without limits that look the same.
    def per_hour
      return "" if growing_threads || !(rate = @diagnosis.rate)

      value, range = @layout.figure(rate[1], rate.values_at(0, 2), sign: true)
      ", #{value} an hour#{" (#{range})" if range.include?(" – ")}"
    end

    # Where most of it is from.
    def place
      return first_place unless growing_threads

      place = @diagnosis.created&.place
      place ? " Most are created at #{@layout.subject(place)}." : ""
    end

    # When it stopped to grow.
    def ended_at = time_of(growing.first.verdict.ended_at)

    # A likely leak may still be something else.
    def doubt = @diagnosis.state == :likely ? " A #{growing_threads ? "pool" : "cache"} that takes longer than #{time} to fill looks the same." : ""

    # " Most of it is from app/x.rb:12, retained by `Report::BADGES`."
    def first_place
      finding = shown.first or return ""
      most = if @diagnosis.mapped? then "Of other memory +#{bytes(finding.space)}"
             else finding.space >= MOST * total ? "Most of it" : "The largest part (#{@layout.percent(finding.space / total)})"
             end
      how = if finding.holder&.named? then ", #{retained(finding)}"
            elsif finding.lost? then ", allocated by #{function(finding)}; no reference to it was found"
            end
      " #{most} is from #{@layout.subject(finding.line.subject)}#{how}."
    end

    def known_in = @layout.duration(@diagnosis.seconds_to_know)

    def unknown
      return "an older version wrote the profiles, and they list no major GCs." if @diagnosis.older?
      return ["no major GC has ended since sampling began", @diagnosis.no_majors].compact.join("; ") + "." if counts.size.zero?

      soon = @diagnosis.seconds_to_know
      needed = "#{@layout.count(counts.size)} of #{Verdict::ENOUGH} major GCs"
      again = " Ask again in #{@layout.duration(soon)}." if soon && !@diagnosis.no_majors
      "#{[needed, *@diagnosis.no_majors].join("; ")}.#{again}#{grew_so_far}"
    end

    def grew_so_far
      finding = findings.first or return ""
      held = ", #{retained(finding)}" if finding.holder&.named?
      " The line that grew most so far is #{@layout.subject(finding.line.subject)} (#{@layout.bytes(finding.space, sign: true)})#{held}."
    end

    # "Objects in heap slots: 10.1, 13.2, 16.3, 19.4 MiB; malloc: 20.0, …": what is counted, at the quarters of the time.
    def counted
      shown = growing_threads ? growing.reject(&:bytes?) : growing.any? ? @diagnosis.grown_bytes : [counts[:slots], counts[:malloc]].compact
      shown.map do |count|
        sizes = at_quarters(count.points).map { |point| count.bytes? ? bytes(point.size) : @layout.count(point.size) }
        "#{COUNTS.fetch(count.kind).capitalize}#{", at quarters of the time" if sizes.size > 1}: #{sizes.join(", ")} (exact, #{count.points.size} point#{"s" if sizes.size > 1})."
      end
    end

    # The points that are nearest to quarters of the time.
    def at_quarters(points)
      return points if points.size == 1

      from, to = points.first.seconds, points.last.seconds
      Array.new(5) { |quarter| points.min_by { |point| (point.seconds - from - ((to - from) * quarter / 4.0)).abs } }
    end

    def limit
      seconds = @diagnosis.seconds_to_limit or return
      limit = @diagnosis.limit
      name = limit.machine ? "The memory of the machine" : "The memory limit of the cgroup"
      "#{name} (#{bytes(limit.bytes)}, #{bytes(limit.used)} used) is reached in #{@layout.duration(seconds)} at the growth rate of RSS."
    end

    # Where RSS went, where no leak explains it.
    def rss_parts
      growth = @diagnosis.account_growth
      grew = growth["rss"]
      return unless grew

      text = "RSS #{grew.negative? ? "fell" : "grew"} by #{bytes(grew.abs)} from the first profile to the last"
      part, most = @diagnosis.unused_growth
      part ? "#{text}; #{Account::PARTS.fetch(part)}: #{@layout.bytes(most, sign: true)}.#{peak}" : "#{text}."
    end

    # Memory that was live for a while, and is free now.
    def peak
      peak = @diagnosis.peak
      return "" unless peak && peak.estimate.space <= peak.bytes

      " The peak of live memory was #{bytes(peak.bytes)} at #{peak.info.taken.utc.strftime("%T")} UTC, #{@layout.size(peak.estimate)} of it from #{@layout.subject(peak.line)}."
    end

    # A paragraph for each finding.
    def paragraphs
      rows = shown.each_with_index.map { |finding, index| paragraph(finding, index) }
      rest = findings - shown
      return rows if rest.empty? || shown.empty?

      [*rows, @layout.sentence("#{@layout.count(rest.size)} smaller findings grew by #{bytes(rest.sum(&:space))} together.")]
    end

    def total = [findings.sum(&:space), 1.0].max

    def paragraph(finding, index)
      cells = finding.lines.first(LINES).map { |line| cells(line) }
      [*@layout.title("#{index + 1}. #{heading(finding)}"), *facts(finding).flat_map { |fact|
        @layout.sentence(fact)
      }, *@layout.table(COLUMNS, cells), *@layout.more(finding.lines.size - LINES), *StackText.section([["it", finding.line.stack]], @layout),
       *step_lines(finding_step(finding))]
    end

    # "`Report::BADGES` retains +18.0 MiB, +60.0 MiB an hour (84.2% of the sampled growth)"
    def heading(finding)
      share = "#{@layout.bytes(finding.space, sign: true)}#{", #{hourly(finding)} an hour" if @diagnosis.grows?} (#{@layout.percent(finding.space / total)} of the sampled growth)"
      return "#{holder(finding)} #{held(finding)} #{share}" if finding.holder&.named?
      return "#{function(finding)}#{"," if finding.line.gem} allocated #{share}, and no reference to it was found" if finding.lost?

      root = finding.holder&.known? ? ", retained by #{@layout.bare(@layout.holder(finding.holder))}" : ""
      "#{@layout.subject(finding.line.subject)} allocated #{share}#{root}"
    end

    # "retains", "retains at least 38.0% of", "probably retains".
    def held(finding)
      return "probably retains" if finding.holder.owner

      finding.share_held >= ALL_LEAST ? "retains" : "retains at least #{@layout.percent(finding.share_held)} of"
    end

    def holder(finding)
      name = Printable.code(@layout.holder(finding.holder))
      finding.holder.owner ? "#{name} (through the #{Printable.code(@layout.name(finding.holder.owner))} objects that own the memory)" : name
    end

    # "`xmlNewNode` of `libxml2.so.2`, called by the gem `nokogiri-1.16.0`"; "C code" if no function is known.
    def function(finding)
      line = finding.line
      name = line.function && line.function.label != line.library && !line.function.label.start_with?("#{line.library}+") ? Printable.code(@layout.name(line.function.label)) : "C code"
      library = line.library.to_s.empty? ? "" : " of #{Printable.code(@layout.name(line.library))}"
      "#{name}#{library}#{", called by the gem #{gem(line)}" if line.gem}"
    end

    def gem(line) = Printable.code(@layout.name(line.gem))

    def cells(line)
      value, range = @layout.figure(line.space, line.interval, sign: true)
      [value, range, @diagnosis.grows? ? hourly(line) : Layout::NOTHING, @layout.count(line.objects), @layout.count(line.samples),
       @layout.name(line.class_name || ClassMix::MALLOC, ClassMix::LENGTH), line.subject]
    end

    # Of a line or a finding.
    def hourly(grown) = @layout.bytes(@diagnosis.lines.per_hour(grown.space), sign: true)

    # Steps that are in no paragraph.
    def advised = (steps - shown.map { |finding| finding_step(finding) }).map { |step| step_lines(step) }

    # A command is not broken into lines, so that it can be pasted.
    def step_lines(step) = [*@layout.sentence("Next: #{step.sentence}"), *("    #{step.command}" if step.command)]

    def finding_step(finding)
      return lost_step(finding) if finding.lost?
      return Step.new("Look at what is added to #{Printable.code(@layout.holder(finding.holder))} and never removed.", why_command(finding)) if finding.holder&.named?

      Step.new("Look for what retains the #{objects(finding)} that #{@layout.subject(finding.line.subject)} allocates.", why_command(finding))
    end

    def lost_step(finding)
      gem = finding.line.gem ? ", or update the gem #{gem(finding.line)}" : ""
      Step.new("Find the call that allocates without a matching free at #{@layout.subject(finding.line.subject)}#{gem}.", command("top", "--by function --kind malloc"))
    end

    def objects(finding) = finding.line.class_name ? "#{Printable.code(@layout.name(finding.line.class_name))}s" : "memory"

    def why_command(finding = nil)
      name = finding&.line&.class_name
      command("why", ("--class '#{name}'" if name&.match?(/\A[[:word:]:]+\z/)))
    end

    # A command to paste; nil if nothing can be named.
    def command(name, options = nil) = target&.then { |target| ["heapsample", name, target, options].compact.join(" ") }

    # The folder of the profiles, or the process.
    def target
      path = series.paths.last&.then { |last| File.dirname(last) }
      return @diagnosis.info.process_id unless path
      return unless Printable.text(path) == path

      path = "./#{path}" if path.start_with?("-")
      path.match?(%r{\A[\w.,:+@%/-]+\z}) ? path : "'#{path.gsub("'", "'\\\\''")}'"
    end

    def counted_step
      kind = growing.first.kind
      return Step.new("Find the code that maps memory.", bpftrace) if kind == :mapped
      return Step.new("Sample with a shorter interval, or for longer, so that lines can be named.") if growing.first.bytes?

      place = @diagnosis.created&.place
      Step.new("Look for #{kind} that are started#{" at #{@layout.subject(place)}" if place} and never end: end them, or use a pool.", why_command)
    end

    # Were the profiles asked of a running process?
    def live? = series.paths.none?

    # Seconds of a look that is long enough, to ten.
    def ask_for = ((series.seconds + (@diagnosis.seconds_to_know || series.seconds)) / 10.0).ceil * 10

    def bpftrace = @diagnosis.info.process_id&.then { |id| "bpftrace -e 'tracepoint:syscalls:sys_enter_mmap /pid == #{id}/ { @[ustack] = sum(args.len); }'" }

    def unknown_advice
      return "Take new profiles: Ruby with this version of the sampler lists major GCs." if @diagnosis.older?
      return NO_MAJORS[@diagnosis.info.forced.last] if @diagnosis.no_majors && NO_MAJORS[@diagnosis.info.forced.last]
      return "Set diagnose=1% in RUBY_HEAP_SAMPLE, or start a major GC in the program (GC.start)." if counts.size.zero?
      return "Watch for #{ask_for} s, or allow a larger share of the run time for major GCs, such as --diagnose 5%." if live?

      "Let it run longer. every=60 in RUBY_HEAP_SAMPLE writes a profile each minute; diagnose=1% starts major GCs."
    end

    def time = @layout.duration(@diagnosis.seconds)
    def time_of(seconds) = Time.at(seconds).utc.strftime("%T UTC")
    def bytes(value) = @layout.bytes(value)
  end
end
