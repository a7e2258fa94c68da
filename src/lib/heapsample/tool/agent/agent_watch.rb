# frozen_string_literal: true

require "etc"
require "stringio"

module HeapSample
  module Tool
    # Asks each process for a profile at a regular interval, and sooner when its resident memory grows. No GC and no heap walk is
    # forced, unless the agent has a share for them. Consumers get each profile, and the end of each process:
    #
    # [profile(take)]       a new AgentTake; its #info can be read
    # [ended(take, cause)]  the last take of a process; +cause+: nil after a normal end, else a key of AgentDeath::CAUSES
    #
    # A consumer returns at once and raises nothing. AgentQueue makes one of a class that takes longer.
    class AgentWatch
      # Seconds between two looks at the RSS, from profile to profile, and between two lists of the processes. The factor of RSS that
      # makes the next profile come sooner.
      TICK, INTERVAL, LIST, GROWTH = 1, 15, 2, 1.05
      # Requests at one time: in all, and to processes that did not answer the last one. These are asked after 2, 4, 8 s, and so on.
      ASKS_MOST, FAILED_MOST, BACKOFF_MOST = 32, 4, 60
      PAGE = Etc.sysconf(Etc::SC_PAGESIZE)

      # What is known of a process: when it was asked (monotonic), the largest RSS at a profile, its last take, how many requests have
      # failed since, and the Thread that asks.
      Watched = Struct.new(:process, :asked, :most, :last, :failures, :asking) do
        def busy? = asking&.alive?

        def due?(now, rss, interval)
          since = now - asked
          return since >= [2**failures, BACKOFF_MOST].min if failures.positive?

          since + (1.2 * TICK) > interval || (since >= TICK && rss > most * GROWTH)
        end
      end

      # +processes+: AgentProcesses; +consumers+: an Array; +interval+: seconds from profile to profile.
      def initialize(processes, consumers, interval: INTERVAL)
        @processes, @consumers, @interval = processes, consumers, interval
        @watched, @ended = {}, Queue.new
        processes.on_end = ->(process, cause) { @ended << [process, cause] }
      end

      # Starts its thread, and returns it.
      def run = @thread ||= Thread.new { loop { sleep(TICK.tap { tick(now) }) } }

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # One failure must not end the watch.
      def tick(now)
        list(now)
        @watched.each_value { |watched| look(watched, now) }
        part
      rescue StandardError, NoMemoryError => e
        AgentQueue.failed(e)
      end

      def list(now)
        return if @listed && now - @listed < LIST && @watched.none? { |_, watched| watched.process.gone? }

        @listed = now
        @processes.all.each { |process| @watched[process.key] ||= Watched.new(process, now - @interval, 0, nil, 0) }
      end

      def look(watched, now)
        rss = watched.process.rss
        return if rss.nil? || watched.busy? || !watched.due?(now, rss, @interval) || !room?(watched)

        # After the first request of a process the next one comes sooner, by a random time: not all are asked at the same moment.
        watched.asked = watched.last || watched.failures.positive? ? now : now - rand(@interval / 2.0)
        watched.asking = Thread.new { ask(watched, rss) }
      end

      def room?(watched)
        asking = @watched.values.select(&:busy?)
        asking.size < ASKS_MOST && (watched.failures.zero? || asking.count { |one| one.failures.positive? } < FAILED_MOST)
      end

      def ask(watched, rss)
        taken, process = Time.now, watched.process
        process.death.note
        take = AgentTake.new(process, process.own_bytes, taken, rss)
        return if process.other?          # the PID is used again

        process.title = take.info.title
        watched.most, watched.failures, watched.last = [watched.most, rss].max, 0, take
        @consumers.each { |consumer| consumer.profile(take) }
      rescue StandardError, NoMemoryError => e
        watched.failures += 1
        AgentQueue.failed(e) unless e.is_a?(LiveProcess::Refused) || e.is_a?(FormatError)
      end

      # Ends are reported after the last profile.
      def part
        @ended.size.times do
          process, cause = @ended.pop
          next @ended << [process, cause] if @watched[process.key]&.busy?

          take = @watched.delete(process.key)&.last or next
          @consumers.each { |consumer| consumer.ended(take, cause) }
        end
      end
    end

    # A profile as a process has sent it: +bytes+ (gzip'ed pprof, unchecked), when it was asked for (+taken+, a Time), and the RSS then.
    AgentTake = Struct.new(:process, :bytes, :taken, :rss) do
      # PID and start of the process.
      def key = process.key
      # What the profile has about itself. Raises FormatError.
      def info = @info ||= Meta.new(PprofReader.read_head(bytes, name: "process #{process.pid}"))
      # The Profile, decoded anew each time: that takes tens of milliseconds, and tens of MiB. Raises FormatError.
      def profile = Profile.load(StringIO.new(bytes), name: "process #{process.pid}", limit: AgentProcess::DECODED_MOST)
    end

    # A consumer with a thread of its own, which calls #take and #took_end. Of a program whose profiles arrive faster than they are
    # worked on only the newest one waits; after exec(2) it is another program. No end is dropped.
    class AgentQueue
      def self.failed(error) = Message.print("internal error, please report it: #{error.class} (#{error.backtrace&.first})")

      def initialize = (@waiting, @lock, @filled = {}, Mutex.new, ConditionVariable.new)

      def profile(take) = push([take.key, program(take)], [:take, take])
      def ended(take, cause) = push([take.key, :end], [:took_end, take, cause])

      # Starts the thread, and returns it.
      def run = @thread ||= Thread.new { loop { work(*pop) } }

      private

      def program(take)
        take.info.then { |info| [info.process_start, info.session] }
      rescue FormatError
        nil
      end

      def push(key, work) = @lock.synchronize { (@waiting[key] = work) && @filled.signal }

      def pop
        @lock.synchronize do
          @filled.wait(@lock) while @waiting.empty?
          @waiting.shift.last
        end
      end

      def work(method, *arguments)
        send(method, *arguments)
      rescue StandardError, NoMemoryError, SystemStackError => e
        AgentQueue.failed(e) unless e.is_a?(FormatError)        # what a process has sent
      end
    end
  end
end
