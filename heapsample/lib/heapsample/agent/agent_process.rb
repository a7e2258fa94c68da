# frozen_string_literal: true

require "stringio"

module HeapSample
  module Tool
    # A process that the agent asks, and what the agent holds for it while it lives. The process may be slow, or hostile:
    # equal questions at one time are one question, in a thread of its own; and few requests wait for one process.
    class AgentProcess
      # Requests that may wait; seconds for which a report is used again; bytes of a profile when unpacked.
      WAITING_MOST, FRESH, DECODED_MOST = 8, 1, 128 << 20

      attr_reader :pid, :deltas, :web

      # +share+: of the time, for the GCs and walks that the agent asks for by itself; nil: none.
      def initialize(pid, share)
        @pid, @share = pid, share
        @lock, @flights = Mutex.new, {}
        @inside = @forces_at = 0
        @deltas = AgentDeltas.new
        @web = HeapSample::Web.new(pid: pid) { own_profile }
      end

      # Answers one request; raises AgentRefusal if too many wait.
      def within
        inside = @lock.synchronize { @inside < WAITING_MOST && @inside += 1 }
        raise AgentRefusal.new(503, "#{WAITING_MOST} requests wait for process #{pid}. Try again later.") unless inside

        yield
      ensure
        @lock.synchronize { @inside -= 1 } if inside
      end

      # The bytes of an answer: the process has sent them, so they may be anything.
      def bytes(verb, **arguments)
        question = [verb, arguments]
        flight = @lock.synchronize do
          @flights[question] ||= Thread.new do
            LiveProcess.new(pid).bytes(verb, **arguments)
          ensure
            @lock.synchronize { @flights.delete(question) }
          end
        end
        flight.value
      end

      def profile(**asked)
        Profile.load(StringIO.new(bytes("profile", **asked)), name: "process #{pid}", limit: DECODED_MOST)
      end

      # The same, for an answer of the agent's own. It forces work in the process only if there is a share for it.
      def own_profile
        began = now
        forces = @share && began >= @forces_at
        forces ? profile(gc: 1, why: 1) : profile
      rescue LiveSocket::Declined
        forces ? profile : raise
      ensure
        @forces_at = now + (now - began) * (1 / @share - 1) if forces
      end

      # What LiveProcess#hello and #memory give, and :raw, the JSON of the second when it was checked: a Thread.
      def report
        @lock.synchronize do
          next @report if @report && (@report.alive? || now - @reported < FRESH)

          @reported = now
          @report = Thread.new { ask_report(LiveProcess.new(pid)) }
        end
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def ask_report(process)
        text = process.bytes("memory")
        memory = LiveAnswer.described(text, LiveAnswer::MEMORY)
        {**process.hello, **memory, raw: JSON.parse(text).slice("account", "account_at_start", "alive", "gc")}
      rescue LiveAnswer::Damaged => e
        raise LiveProcess::Refused, "process #{pid}: its answer is damaged: #{e.message}"
      end
    end
  end
end
