# frozen_string_literal: true

module HeapSample
  module Tool
    # The processes that the agent may ask: those of LiveProcess.all whose control socket is open. What is held for a
    # process goes when the process does: another one may get its PID.
    class AgentProcesses
      # Seconds for which the list is used again; in which all must report; and how many there may be.
      FRESH, WAIT, MOST = 1, 2, 256

      def initialize(share)
        @share, @lock, @known = share, Mutex.new, {}
      end

      def all = @lock.synchronize { @read_at.nil? || now - @read_at >= FRESH ? read.values : @known.values }

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
        @read_at = now
        @known = pids.filter_map { |pid| identity(pid) }.to_h { |id| [id, @known[id] || AgentProcess.new(id.first, @share)] }
      end

      # PID and start; nil if it has ended.
      def identity(pid)
        [pid, File.read("/proc/#{pid}/stat")[/.*\)(.*)\z/m, 1].split[19]]
      rescue SystemCallError, NoMethodError
        nil
      end
    end
  end
end
