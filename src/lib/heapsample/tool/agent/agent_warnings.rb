# frozen_string_literal: true

module HeapSample
  module Tool
    # Judges each process, and prints one line when it leaks or its memory limit is near: again only after that was over. The line of
    # an unexpected end is printed by AgentProcesses. Growth is decided by the exact counts of all takes; lines are from the last take.
    class AgentWarnings < AgentQueue
      # Seconds from verdict to verdict, and from profile to profile that is decoded for the lines of a growth that is known.
      JUDGE, READ = 60, 600
      # Shares of the limit: when a line is printed, and when it is over.
      NEAR, OVER = 0.9, 0.85
      # Takes whose counts are held (of the older half every second one goes), limits that are known, and lines of a leak.
      INFOS_MOST, LIMITS_MOST, LINES_MOST = 96, 256, 10

      # sentence: of the diagnosis; leaks: a list of [line, grade]; to_limit: seconds; growth: bytes of RSS an hour. nil: not known.
      Verdict = Struct.new(:sentence, :leaks, :to_limit, :growth)
      NONE = Verdict.new("No verdict yet.", [].freeze, nil, nil).freeze
      # What is held of a process: Metas; what was counted, and the state by counts, at the last verdict; when it was, and when lines were read.
      Judged = Struct.new(:infos, :counted, :state, :at, :read, :verdict)

      # +clock+: monotonic seconds.
      def initialize(clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
        super()
        @clock, @judged, @on, @limits = clock, {}, {}, {}
      end

      # The Verdict of an AgentProcess.
      def verdict(process) = @judged[process.key]&.verdict || NONE

      private

      def take(take)
        info = take.info
        return unless info.taken && info.process_start

        judged = (@judged[take.key] ||= Judged.new([], nil, nil, nil, nil, NONE))
        judged.infos.clear unless judged.infos.empty? || judged.infos.last.same_run?(info)      # exec(2)
        judged.infos << AgentSeries.slim(info)
        thin(judged.infos) if judged.infos.size > INFOS_MOST
        judged.verdict = judged.verdict.dup.tap { |verdict| verdict.growth = growth(judged.infos) }
        limit(take, info.account&.limit)
        judge(judged, take, @clock.call) if judged.counted != counted(info) && (judged.at.nil? || @clock.call - judged.at >= JUDGE)
      end

      def took_end(take, _cause) = [@judged, @on].each { |known| known.delete(take.key) }

      def thin(infos) = infos.replace(infos.each_with_index.reject { |_, index| index.odd? && index < INFOS_MOST / 2 }.map(&:first))
      def counted(info) = [info.gc_major, *info.alive&.then { |alive| [alive.threads.count, alive.fibers.count] }, Counts::MAPPED.sum { |part| info.account&.[](part).to_i } >> 20]

      def growth(infos)
        first, last = infos.select { |info| info.account&.rss }.values_at(0, -1)
        seconds = last ? last.taken - first.taken : 0
        (last.account.rss - first.account.rss) * 3600 / seconds if seconds >= JUDGE
      end

      def judge(judged, take, now)
        judged.counted, judged.at = counted(take.info), now
        entries = [*judged.infos[0...-1].map { |info| AgentSeries::Entry.new(info) }, AgentSeries::Entry.new(take.info, nil, nil, nil, take.bytes)]
        diagnosis = ProcessDiagnosis.new(AgentSeries.new(entries))
        state = diagnosis.growing.first&.state
        judged.verdict.to_limit = diagnosis.seconds_to_limit
        return if state && state == judged.state && now - judged.read < READ

        judged.state, judged.read = state, now
        judged.verdict = Verdict.new(diagnosis.text(width: 1 << 16).sentence, leaks(diagnosis), judged.verdict.to_limit, judged.verdict.growth)
        warn_once(take.key, diagnosis.leak?) { "#{name(take)} leaks: #{judged.verdict.sentence}" }
      end

      def leaks(diagnosis)
        return [] unless diagnosis.leak?

        lines = diagnosis.findings.first(LINES_MOST).map { |finding| finding.line.subject.text }
        (lines.empty? ? [diagnosis.created&.place&.text || "(#{diagnosis.kind})"] : lines.uniq).map { |line| [line, diagnosis.state.to_s] }
      end

      # Many processes may share a limit: the process that reports it first is named.
      def limit(take, limit)
        return unless limit&.bytes&.positive?

        share, key = limit.used.fdiv(limit.bytes), [limit.bytes, limit.machine || take.process.death.cgroup]
        @limits.shift if @limits.size >= LIMITS_MOST
        return @limits.delete(key) if share < OVER
        return if share < NEAR || @limits.key?(key)

        layout = Layout.new
        @limits[key] = true
        Message.print("#{name(take)}: #{(100 * share).floor}% of the memory #{limit.machine ? "of the machine" : "limit of its cgroup"} are used: " \
                    "#{layout.bytes(limit.used)} of #{layout.bytes(limit.bytes)}")
      end

      def warn_once(key, leaks)
        return @on.delete(key) unless leaks

        Message.print(yield) unless @on.key?(key)
        @on[key] = true
      end

      def name(take) = "process #{take.process.pid}#{" (#{take.info.title})" if take.info.title}"
    end
  end
end
