# frozen_string_literal: true

module HeapSample
  module Tool
    # Why a process ended unexpectedly, as far as the kernel shows it: by the status that a zombie has until its parent reads it,
    # and by counters of processes that were killed because memory ran out, before and after: of its cgroup, and of the machine.
    class AgentDeath
      CAUSES = {
        oom_kill: "the kernel killed it because memory ran out (%s)", oom_kill_likely: "the kernel probably killed it because memory ran out (%s)",
        killed: "it was killed (SIGKILL)", crashed: "it crashed, or was ended by a signal (%s)", exited: "it called exit! (status %s)",
        unknown: "it called exit!, crashed, or was killed"
      }.freeze
      # Milliseconds in which a process whose connection has ended becomes a zombie.
      ZOMBIE_MS = 50
      # In /proc/PID/stat, from the state on.
      EXIT_CODE = 49

      # Its cgroup, as /proc has it: nil if it is not known.
      attr_reader :cgroup

      # Tests have other folders.
      def initialize(pid, proc: "/proc", cgroups: "/sys/fs/cgroup") = (@pid, @proc, @cgroups, @before = pid, proc, cgroups, {})

      # Notes the counters, while it lives.
      def note = counters.then { |now| @before = now unless now.empty? }

      # Looks at what is left of it, at once when it has ended.
      def look
        ZOMBIE_MS.times do
          fields = File.read("#{@proc}/#{@pid}/stat")[/.*\)(.*)\z/m, 1].split
          break @status = fields[EXIT_CODE].to_i if %w[Z X].include?(fields.first)

          sleep 0.001
        end
      rescue SystemCallError
        nil
      end

      # A key of CAUSES.
      def cause
        signal = @status & 0x7f if @status
        return signal.zero? ? :exited : :crashed if signal && signal != 9
        return risen.first == machine ? :oom_kill_likely : :oom_kill if risen

        signal ? :killed : :unknown
      end

      def sentence
        file, before, after = risen
        detail = {crashed: "SIG#{Signal.signame(@status.to_i & 0x7f)}", exited: @status.to_i >> 8}.fetch(cause, "oom_kill in #{file}: #{before}, then #{after}")
        format(CAUSES.fetch(cause), detail)
      end

      private

      def machine = "#{@proc}/vmstat"
      # The first counter that is larger now: its file, the count before, and now.
      def risen = @risen ||= @before.filter_map { |file, before| count(file)&.then { |now| [file, before, now] if now > before } }.first

      # File => count: of its cgroup and those around it, and of the machine. Older systems have a hierarchy of memory alone.
      def counters
        @cgroup = File.read("#{@proc}/#{@pid}/cgroup")
        memory = @cgroup[%r{^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:/(.*)$}, 1]
        files = memory ? around("#{@cgroups}/memory", memory, "memory.oom_control") : around(@cgroups, @cgroup[%r{^0::/(.*)$}, 1].to_s, "memory.events")
        [*files, machine].to_h { |file| [file, count(file)] }.compact
      rescue SystemCallError
        {}
      end

      # A path outside of this cgroup namespace begins with "..": it is not below the folder.
      def around(folder, path, name)
        parts = path.split("/")
        parts.include?("..") ? [] : parts.size.downto(0).map { |size| File.join(folder, *parts.first(size), name) }
      end

      def count(file)
        File.read(file)[/^oom_kill (\d+)$/, 1]&.to_i
      rescue SystemCallError
        nil
      end
    end
  end
end
