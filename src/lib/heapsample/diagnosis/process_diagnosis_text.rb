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
    # Why growth that is certain is no leak, and when more will be known.
    GUARDS = {
      small: "it is little", late: "most of it came lately, and a job that takes long looks the same", slows: "it slows down, as a cache does that fills",
      back: "it was as high before", steps: "it came in a few steps, as tables that double and caches do", waves: "it comes and goes in waves",
      load: "there is more work than at first, and memory follows the work"
    }
    # The part of RSS growth from which a part of the account explains it.
    EXPLAINS = 0.5
    # A finding has such a part of what the samples found, or it has no paragraph.
    PARAGRAPH_LEAST = 0.05
    private_constant :COLUMNS, :EXPLAINS

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
    end

    def to_s = @layout.text([head, answer, why, *paragraphs, *advised])

    def lines(_ = nil) = [*answer, *why]

    def summary = @layout.subject(sentence)

    # The verdict in one sentence, or two.
    def sentence
      case @diagnosis.state
      when :confirmed, :likely then "Leak (#{@diagnosis.state}): #{what_grows}, evenly#{per_hour}.#{place}#{doubt}"
      when :grows then "Grows (certain): #{what_grows}. It is not called a leak: #{GUARDS.fetch(@diagnosis.guard)}. Look again in #{known_in}.#{place}"
      when :ended then "Ended: #{what_grows} until #{ended_at}, and not since, though work went on: a cache that is full, or a job that is over.#{place}"
      when :none then "No leak found: one of #{bytes(@diagnosis.detectable)}/hour or more would have been found (95%)."
      else "Cannot tell: #{unknown}"
      end
    end

    # What speaks for it, an Array of sentences.
    def evidence = [*counted, *limit, *(rss_parts unless @diagnosis.leak?)]

    # What to do next, an Array of sentences.
    def advice
      case @diagnosis.state
      when :none then []
      when :unknown then unknown_advice
      else @diagnosis.growing_bytes.empty? || shown.empty? ? counted_advice : shown.flat_map { |finding| finding_advice(finding) }.uniq
      end
    end

    private

    %i[findings growing counts series].each { |name| class_eval("def #{name} = @diagnosis.#{name}", __FILE__, __LINE__) }

    def head
      title = @diagnosis.title
      title = title.gsub(/\d+/, "N") if title && @diagnosis.members.size > 1
      about = [members, *title, "#{@diagnosis.members.sum(&:size)} profiles", series.span].join(", ")
      [*@layout.title("Diagnosis: #{about}"), *@diagnosis.members.flat_map(&:warnings).flat_map { |warning| @layout.sentence("Warning: #{warning}") }]
    end

    # "process 4711", "4 processes (11, 12, 13, 14), of which 12 is the worst".
    def members
      ids = @diagnosis.members.map { |one| one.infos.last.process_id || "?" }
      return "process #{ids.first}" if ids.size == 1

      judged = @diagnosis.judged.map { |one| one.infos.last.process_id }
      "#{ids.size} processes (#{ids.join(", ")})#{", of which #{judged.join(", ")} is the worst" if judged.size < ids.size}"
    end

    def answer = @layout.sentence(sentence)
    def why = evidence.flat_map { |one| @layout.sentence(one) }

    # "memory that survives major GCs grew by 21.3 MiB in 1 min 2 s", "threads grew from 25 to 647".
    def what_grows
      return threads if growing_threads

      verdicts = @diagnosis.growing_bytes
      return "mapped memory grew by #{bytes(@diagnosis.grew)} in #{time}" if verdicts.all? { |count| count.kind == :mapped }

      "memory that survives major GCs grew by #{bytes(@diagnosis.grew)} in #{time}"
    end

    def growing_threads = growing.find { |count| !count.bytes? }

    def threads
      points = growing_threads.points
      "#{growing_threads.kind} grew from #{@layout.count(points.first.size)} to #{@layout.count(points.last.size)} in #{time}"
    end

    # ", +1.2 GiB an hour (+1.1 – +1.3 GiB)"; without limits that are the same.
    def per_hour
      return "" if growing_threads || !(rate = @diagnosis.rate)

      value, range = @layout.figure(rate[1], rate.values_at(0, 2), sign: true)
      low, high = rate.values_at(0, 2).map { |limit| @layout.bytes(limit) }
      ", #{value} an hour#{" (#{range})" unless low == high}"
    end

    # Where most of it is from.
    def place
      return first_place unless growing_threads

      place = @diagnosis.created&.place
      place ? " Most are created at #{@layout.subject(place)}." : ""
    end

    # When it stopped to grow: the first point that is as high as the end.
    def ended_at
      points = growing.first.points
      level = Curve.level(points.last([points.size / 4, 3].max).map(&:size))
      time_of(points.find { |point| point.size >= level } || points.last)
    end

    # A likely leak may still be something else.
    def doubt = @diagnosis.state == :likely ? " A #{growing_threads ? "pool" : "cache"} that takes longer than #{time} to fill looks the same." : ""

    # " Most of it is from app/x.rb:12, retained by `Report::BADGES`."
    def first_place
      finding = findings.first or return ""
      " Most of it is from #{@layout.subject(finding.line.subject)}#{", retained by #{holder(finding)}" if finding.holder&.kept?}."
    end

    def known_in = @layout.duration(@diagnosis.seconds_to_know)

    def unknown
      missing = @diagnosis.no_majors
      return "no major GC has ended; #{missing}." if missing
      return "no major GC has ended." if counts.size.zero?

      soon = @diagnosis.seconds_to_know
      "#{@layout.count(counts.size)} points so far, and #{Verdict::ENOUGH} are needed#{"; about #{@layout.duration(soon)} more" if soon}.#{grew_so_far}"
    end

    def grew_so_far
      finding = findings.first or return ""
      " The line that grew most so far is #{@layout.subject(finding.line.subject)} (#{@layout.bytes(finding.space, sign: true)})."
    end

    # "Objects in heap slots: 10.1, 13.2, 16.3, 19.4 MiB; malloc: 20.0, …": what is counted, at the quarters of the time.
    def counted
      shown = growing.any? ? growing : [counts[:slots], counts[:malloc]].compact
      shown.map do |count|
        points = count.points
        sizes = Array.new(5) { |quarter| points[(points.size - 1) * quarter / 4].size }
        "#{COUNTS.fetch(count.kind).capitalize}, at quarters of the time: #{sizes.map { |size|
          count.bytes? ? bytes(size) : @layout.count(size)
        }.join(", ")} (exact#{count.points.size > 1 ? ", #{points.size} points" : ""})."
      end
    end

    def limit
      seconds = @diagnosis.seconds_to_limit or return
      limit = @diagnosis.limit
      "#{limit.machine ? "The memory of the machine" : "The memory limit of the cgroup"} (#{bytes(limit.bytes)}, #{bytes(limit.used)} used) is reached in #{@layout.duration(seconds)} at this rate."
    end

    # Where RSS went, where no leak explains it.
    def rss_parts
      growth = @diagnosis.account_growth
      grew = growth["rss"]
      return unless grew

      text = "RSS #{grew.negative? ? "fell" : "grew"} by #{bytes(grew.abs)} from the first profile to the last"
      part, most = growth.except("rss", "slots_live", "malloc_live").max_by(&:last)
      return "#{text}." unless part && grew >= 1 << 20 && most >= EXPLAINS * grew

      "#{text}; #{Account::PARTS.fetch(part)}: #{@layout.bytes(most, sign: true)}.#{peak}"
    end

    # Memory that was in use for a while, and is free now.
    def peak
      peak = @diagnosis.peak
      return "" unless peak && peak.estimate.space <= peak.bytes

      " Most was in use at #{peak.info.taken.utc.strftime("%T")} UTC: #{bytes(peak.bytes)}, #{@layout.size(peak.estimate)} of it from #{@layout.subject(peak.line)}."
    end

    # A paragraph for each finding.
    def paragraphs
      rows = shown.each_with_index.map { |finding, index| paragraph(finding, index) }
      rest = findings - shown
      return rows if rest.empty? || shown.empty?

      [*rows, @layout.sentence("#{@layout.count(rest.size)} smaller findings grew by #{bytes(rest.sum(&:space))} together.")]
    end

    def shown
      @shown ||= if %i[none unknown].include?(@diagnosis.state) || @diagnosis.growing_bytes.empty? then []
                 else findings.select { |finding| finding.space >= PARAGRAPH_LEAST * total }.first(FINDINGS)
                 end
    end

    def total = [findings.sum(&:space), 1.0].max

    def paragraph(finding, index)
      cells = finding.lines.first(LINES).map { |line| cells(line) }
      [*@layout.title("#{index + 1}. #{heading(finding)}"), *@layout.table(COLUMNS, cells), *@layout.more(finding.lines.size - LINES), *StackText.section([["it", finding.line.stack]], @layout)]
    end

    # "`Report::BADGES` retains +18.0 MiB (84.2% of what the samples found)"
    def heading(finding)
      share = "#{@layout.bytes(finding.space, sign: true)} (#{@layout.percent(finding.space / total)} of what the samples found)"
      return "#{holder(finding)} retains #{share}" if finding.holder&.kept?
      return "C code#{" of #{library(finding)}" if library(finding)} retains #{share}: no reference leads to it" if finding.lost?

      root = finding.holder && !finding.holder.kept? ? ", retained by #{@layout.bare(@layout.holder(finding.holder))}" : ""
      "#{@layout.subject(finding.line.subject)} allocated #{share}#{root}"
    end

    def holder(finding)
      name = Printable.code(@layout.holder(finding.holder))
      finding.holder.owner ? "#{name} (by the #{Printable.code(@layout.name(finding.holder.owner))}s that own the memory)" : name
    end

    def library(finding) = finding.line.library&.then { |name| Printable.code(@layout.name(name)) unless name.empty? }

    def cells(line)
      value, range = @layout.figure(line.space, line.interval, sign: true)
      range = line.error.zero? ? "exact" : range
      [value, range, @layout.bytes(@diagnosis.lines.per_hour(line.space), sign: true), @layout.count(line.objects), @layout.count(line.samples),
       @layout.name(line.class_name || ClassMix::MALLOC, ClassMix::LENGTH), line.subject]
    end

    def advised = [advice.flat_map { |one| @layout.sentence("Next: #{one}") }]

    def finding_advice(finding)
      return lost_advice(finding) if finding.lost?
      return ["Look at what is added to #{holder(finding)} and never removed. #{command(finding)}"] if finding.holder&.kept?

      ["Look for what retains the #{objects(finding)} that #{@layout.subject(finding.line.subject)} allocates. #{command(finding)}"]
    end

    def objects(finding) = finding.line.class_name ? "#{Printable.code(@layout.name(finding.line.class_name))}s" : "memory"

    # A command to paste.
    def command(finding)
      name = finding.line.class_name
      "heapsample why #{target}#{" --class '#{name}'" if name&.match?(/\A[\w:]+\z/)}"
    end

    # The folder of the profiles, or the process.
    def target = series.paths.last&.then { |path| File.dirname(path) } || @diagnosis.info.process_id

    def lost_advice(finding)
      ["Find the call that allocates without a matching free at #{@layout.subject(finding.line.subject)}, or update the gem. heapsample top #{target} --by function --kind malloc"]
    end

    def counted_advice
      kind = growing.first.kind
      return ["Find the code that maps memory: bpftrace -e 'tracepoint:syscalls:sys_enter_mmap /pid == #{@diagnosis.info.process_id}/ { @[ustack] = sum(args.len); }'"] if kind == :mapped
      return ["Sample with a shorter interval, or for longer, so that lines can be named."] if growing.first.bytes?

      place = @diagnosis.created&.place
      ["Look for #{kind} that are started#{" at #{@layout.subject(place)}" if place} and never end: end them, or use a pool. heapsample why #{target}"]
    end

    def unknown_advice
      return ["Set diagnose=1% in RUBY_HEAP_SAMPLE, or start a major GC in the program: without one nobody knows what is alive."] if counts.size.zero?

      ["Let it run longer. every=60 in RUBY_HEAP_SAMPLE writes a profile each minute; diagnose=1% starts major GCs."]
    end

    def time = @layout.duration(@diagnosis.seconds)
    def time_of(point) = Time.at(point.seconds).utc.strftime("%T UTC")
    def bytes(value) = @layout.bytes(value)
  end
end
