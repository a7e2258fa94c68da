# frozen_string_literal: true

module HeapSample
  module Tool
    # Why a process ended without a goodbye, as far as the kernel shows it: the status that a zombie has until its parent reads it, and
    # the counters of processes that were killed for want of memory, before and after: of its cgroup, and of the machine.
    class AgentDeath
      # The cause => a sentence.
      CAUSES = {
        oom_kill: "the kernel killed it for want of memory (%s)", oom_kill_likely: "the kernel probably killed it for want of memory (%s)",
        killed: "it was killed (SIGKILL)", crashed: "it crashed, or was ended by a signal (%s)", exited: "it called exit! (status %s)",
        unknown: "it called exit!, crashed, or was killed"
      }.freeze
      CGROUPS, DEEPEST, MACHINE = "/sys/fs/cgroup", 16, "vmstat"
      # Milliseconds in which a process whose connection has ended becomes a zombie. A parent that waits for it reads the status at once.
      ZOMBIE_MS = 50
      # In /proc/PID/stat, from the state on.
      EXIT_CODE = 49

      # Tests have other folders.
      def initialize(pid, proc: "/proc", cgroups: CGROUPS)
        @pid, @proc, @cgroups = pid, proc, cgroups
        @before = {}
      end

      # Notes the counters, while it lives.
      def note = counters.then { |now| @before = now unless now.empty? }

      # Its cgroup, as /proc has it: nil if it is not known.
      attr_reader :cgroup

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
        signal, risen = (@status & 0x7f if @status), self.risen
        return :exited if signal&.zero?
        return :crashed if signal && signal != 9
        return File.basename(risen.first) == MACHINE ? :oom_kill_likely : :oom_kill if risen

        signal ? :killed : :unknown
      end

      def sentence
        file, before, after = risen
        detail = case cause
                 when :crashed then "SIG#{Signal.signame(@status & 0x7f) || @status & 0x7f}"
                 when :exited then @status >> 8
                 else "oom_kill in #{file}: #{before}, then #{after}"
                 end
        format(CAUSES.fetch(cause), detail)
      end

      private

      # The first counter that is larger now: its file, the count before, and now.
      def risen
        @risen ||= @before.filter_map { |file, before| count(file)&.then { |now| [file, before, now] if now > before } }.first
      end

      # File => count: of its cgroup and those around it, and of the machine.
      def counters
        @cgroup = File.read("#{@proc}/#{@pid}/cgroup")
        unified, memory = @cgroup[%r{^0::/(.*)$}, 1], @cgroup[%r{^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:/(.*)$}, 1]
        files = memory ? around(memory).map { |path| "#{@cgroups}/memory/#{path}/memory.oom_control" } : around(unified.to_s).map { |path| "#{@cgroups}/#{path}/memory.events" }
        [*files, "#{@proc}/#{MACHINE}"].to_h { |file| [file, count(file)] }.compact
      rescue SystemCallError
        {}
      end

      # A path outside of this cgroup namespace begins with "..": it is not below the folder.
      def around(path)
        parts = path.split("/")
        parts.include?("..") ? [] : parts.size.downto(0).first(DEEPEST).map { |size| parts.first(size).join("/") }
      end

      def count(file)
        File.read(file)[/^oom_kill (\d+)$/, 1]&.to_i
      rescue SystemCallError
        nil
      end
    end
  end
end
