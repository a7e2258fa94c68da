# frozen_string_literal: true

require "etc"
require "stringio"

module HeapSample
  module Tool
    # The processes that the agent may connect to: all of LiveProcess.all whose control socket is open. What is held for a
    # process goes when the process does: another one may get its PID.
    class AgentProcesses
      # Seconds for which the list is used again; in which all must report; and how many there may be.
      FRESH, WAIT, MOST = 1, 2, 256

      # How many have ended normally (true), and how many unexpectedly (false).
      attr_reader :ended
      # Called with each process that has ended, and the cause: see AgentWatch.
      attr_writer :on_end

      # +share+: of the run time, for the GCs and walks that the agent asks for by itself, such as "1%"; nil: none.
      def initialize(share)
        @share, @lock, @known, @ended = share, Mutex.new, {}, {true => 0, false => 0}
      end

      def all
        known = @lock.synchronize { @read_at.nil? || now - @read_at >= FRESH ? read : @known }
        known.values.reject(&:ended_normally)
      end

      # The process of that PID; without one, the only process. Raises AgentRefusal.
      def one(pid)
        list = all
        raise AgentRefusal.new(404, "No process is sampled here, or the agent may not ask it. Start Ruby with --heap-sample.") if list.empty?

        names = list.map { |process| "pid=#{process.pid}" }.join(", ")
        raise AgentRefusal.new(400, "There are several processes. Add one of #{names}.") if pid.nil? && list.size > 1

        list.find { |process| pid.nil? || process.pid == pid } or raise AgentRefusal.new(404, "No process #{pid} can be asked. There are #{names}.")
      end

      # {process => report}, nil where there was none in time. All are asked at once.
      def reports
        ends = now + WAIT
        all.map { |process| [process, process.report] }.to_h do |process, thread|
          [process, (thread.value if thread.join([ends - now, 0].max))]
        rescue LiveProcess::Refused
          [process, nil]
        end
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def read
        pids = LiveProcess.all.select { |process| process.pid != Process.pid && process.listens? }.map(&:pid).first(MOST)
        ids = pids.filter_map { |pid| AgentProcess.identity(pid) }
        (@known.keys - ids).each { |id| part(id, @known[id]) }
        @read_at = now
        @known = ids.to_h { |id| [id, @known[id] || AgentProcess.new(*id, @share)] }.each_value(&:await_end)
      end

      # A process that is no longer listed has ended, or runs a program that is no Ruby.
      def part(id, process)
        normal = process.ended_normally(WAIT)
        died = normal == false && AgentProcess.identity(id.first) != id
        @ended[normal] += 1 if normal || died
        Message.print("process #{process.pid}#{" (#{process.title})" if process.title} has ended unexpectedly: #{process.death.sentence}") if died
        @on_end&.call(process, (process.death.cause if died))
      end
    end

    # A process, and what the agent holds for it. The process may be slow, or hostile: few requests wait for one process.
    class AgentProcess
      # Requests that may wait; seconds for which a report is used again; bytes of a profile when unpacked.
      WAITING_MOST, FRESH, DECODED_MOST = 8, 1, 128 << 20
      TICKS = Etc.sysconf(Etc::SC_CLK_TCK)
      BOOTED = File.read("/proc/stat")[/^btime (\d+)/, 1].to_i

      # Fields of /proc/PID/stat, from the state on; nil if it has ended.
      def self.stat(pid)
        File.read("/proc/#{pid}/stat")[/.*\)(.*)\z/m, 1].split.then { |fields| fields unless %w[Z X].include?(fields.first) }
      rescue SystemCallError
        nil
      end

      # PID and start; nil if it has ended.
      def self.identity(pid) = stat(pid)&.then { |fields| [pid, fields[19]] }

      # key: PID and start, which identify it. The AgentDeath has the cause of its end.
      attr_reader :pid, :key, :death, :deltas, :web
      attr_accessor :title

      # +start+: as .identity has it.
      def initialize(pid, start, share)
        @pid, @key, @share, @lock = pid, [pid, start], (share unless share == "off"), Mutex.new
        @inside, @death = 0, AgentDeath.new(pid)
        @deltas, @web = AgentDeltas.new, HeapSample::Web.new(pid: pid) { own_profile }
      end

      # Waits for its end in a thread of its own; anew, if exec(2) has ended the program alone.
      def await_end
        return if @ending&.alive?

        @ending = Thread.new do
          LiveProcess.new(pid).wait_for_end.tap { |normal| death.look unless normal }
        rescue LiveProcess::Refused
          nil
        end
      end

      # Of a process that has ended, or ends within so many seconds: true: normally; false: unexpectedly; nil: not known.
      def ended_normally(seconds = 0) = @ending&.join(seconds)&.value

      # Has its connection ended? Then it has ended, or will soon, or runs another program.
      def gone? = !ended_normally.nil?
      # Does its PID belong to another process?
      def other? = ![nil, key].include?(AgentProcess.identity(pid))

      # Resident memory in bytes, as the kernel has it; nil if it has ended.
      def rss
        File.read("/proc/#{pid}/statm").split[1].to_i * AgentWatch::PAGE
      rescue SystemCallError
        nil
      end

      # Answers one request; raises AgentRefusal if too many wait.
      def within
        inside = @lock.synchronize { @inside < WAITING_MOST && @inside += 1 }
        raise AgentRefusal.new(503, "#{WAITING_MOST} requests wait for process #{pid}. Try again later.") unless inside

        yield
      ensure
        @lock.synchronize { @inside -= 1 } if inside
      end

      # A GC or a walk that a client of the agent asks for has a share of the run time, too.
      def profile(**asked) = Profile.load(StringIO.new(bytes(**asked)), name: "process #{pid}", limit: DECODED_MOST)

      def bytes(**asked)
        demanded = asked.keys.intersect?(%i[gc why])
        asked[:diagnose] ||= @share || ReportCommand::SHARE if demanded
        asked[:for] = "agent" unless demanded
        LiveProcess.new(pid).bytes("profile", **asked)
      end

      # A profile for an answer of the agent's own. It forces work in the process only if there is a share for it.
      def own_profile = profile(**own)
      # The same as bytes, unchecked.
      def own_bytes = bytes(**own)

      # A Thread: what LiveProcess#hello and #memory give; :raw, the JSON of the second when it was checked; :started and :cpu.
      def report
        @lock.synchronize do
          next @report if @report && (@report.alive? || now - @reported < FRESH)

          @reported = now
          @report = Thread.new { ask_report(LiveProcess.new(pid)) }
        end
      end

      private

      def own = {diagnose: @share}.compact
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def ask_report(process)
        text = process.bytes("memory")
        memory = LiveAnswer.described(text, LiveAnswer::MEMORY)
        hello, stat = process.hello, AgentProcess.stat(pid)
        @title = hello[:title]
        times = {cpu: stat.values_at(11, 12).sum(&:to_f) / TICKS, started: BOOTED + stat[19].to_f / TICKS} if stat
        {**hello, **memory, **times.to_h, raw: JSON.parse(text).slice(*memory.keys.map(&:to_s))}
      rescue LiveAnswer::Damaged => e
        raise LiveProcess::Refused, "process #{pid}: its answer is damaged: #{e.message}"
      end
    end
  end
end
