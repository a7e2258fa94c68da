# frozen_string_literal: true

module HeapSample
  module Tool
    # What a process has allocated since the last answer, by stack and labels. The sum of all answers is what it has
    # allocated since sampling started. Where an estimate has become smaller, it counts again when it is above the largest
    # value that was reported: no answer has negative values.
    class AgentDeltas
      STACKS_MOST = 100_000

      def initialize
        @lock = Mutex.new
        @reported = {}
      end

      # The block takes an AgentProfile; the next request waits for it. Returns pprof. Raises AgentRefusal.
      def since_last
        @lock.synchronize do
          profile = yield
          raise AgentRefusal.new(503, "The profile has more than #{STACKS_MOST} stacks. Use /debug/pprof/heap.") if profile.values.size > STACKS_MOST

          same = @info && profile.same_run?(@info)
          from = same ? @info.taken : profile.info.started
          @reported = {} unless same
          @info = profile.info
          values = profile.values.to_h { |key, values| [key, changes(key, *values)] }
          @reported.shift while @reported.size > STACKS_MOST        # not seen for the longest time
          profile.to_gz(values, from, "inuse_space")
        end
      end

      private

      def changes(key, objects, space, *inuse)
        id = Digest::SHA256.digest(key.map(&:b).join)[0, 16]
        before = @reported.delete(id) || [0, 0]
        @reported[id] = now = [[objects, before[0]].max, [space, before[1]].max]
        [now[0] - before[0], now[1] - before[1], *inuse]
      end
    end
  end
end
