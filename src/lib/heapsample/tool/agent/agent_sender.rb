# frozen_string_literal: true

require "rbconfig"                # for resolv, which net/http loads
require "net/http"
require "socket"
require "timeout"

module HeapSample
  module Tool
    # Makes a profile of each process for the receivers: once a minute, and when it has ended. A consumer of AgentWatch, with a
    # thread of its own. Each profile is read once, for all receivers.
    class AgentSending < AgentQueue
      # Seconds from profile to profile; a take that is this much too early will do, for takes come at intervals of their own. How
      # many times longer it is if spools are half full.
      INTERVAL, EARLY, CROWDED = 60, 8, 15
      # Of a processor, to make all profiles: if they cost more, each is of a longer time.
      SHARE_MOST = 0.01
      LABEL_SETS_MOST, KNOWN_SETS_MOST, LABEL_MOST = 200, 2000, 120

      # What is held of a process: its AgentDeltas, the new text of each label set, when a profile was sent, the last two takes,
      # and the seconds of CPU time that the last profile cost.
      Sent = Struct.new(:deltas, :sets, :at, :sent, :latest, :failed, :cost)

      # +senders+: AgentSender; +dropped+: names of labels; +interval+: seconds; +share+: of a processor; +began+: when the agent
      # started.
      def initialize(senders, dropped = [], interval: INTERVAL, share: SHARE_MOST, began: Time.now)
        super()
        @senders, @dropped, @interval, @share, @began, @known, @making = senders, dropped, interval, share, began, {}, Mutex.new
      end

      def run = @senders.each(&:run) && super

      # Sends what is new of each process, and gives the receivers some seconds to take it.
      def finish(seconds = 5)
        @making.synchronize { @known.each_value { |sent| make(sent) } }
        ends = now + seconds
        @senders.each { |sender| sleep 0.05 while sender.busy? && now < ends }
      end

      private

      def now(clock = Process::CLOCK_MONOTONIC) = Process.clock_gettime(clock)

      # After exec(2), the last profile of the program before it is sent first.
      def take(take)
        @making.synchronize do
          before = @known[take.key]
          make(before) if before && other_program?(before.latest, take)
          known(take).then { |sent| make(sent) if sent.at.nil? || now - sent.at >= wait }
        end
      end

      def other_program?(one, other)
        !one.info.process_start.nil? && !one.info.same_run?(other.info)
      rescue FormatError
        false
      end

      # Where little room is left, each profile is of a longer time: the sums stay, and the room lasts for an hour.
      def wait
        seconds = [@interval, @known.each_value.sum { |sent| sent.cost.to_f } / @share].max
        (seconds - [EARLY, seconds / 4].min) * (@senders.all?(&:half_full?) ? CROWDED : 1)
      end

      def took_end(take, _cause) = @making.synchronize { make(known(take)) && @known.delete(take.key) }
      def known(take) = (@known[take.key] ||= Sent.new(AgentDeltas.new, {})).tap { |sent| sent.latest = take }

      # What is in the spools counts as reported.
      def make(sent)
        return true if (take = sent.latest).equal?(sent.sent)

        sent.at, sent.sent, began = now, take, now(Process::CLOCK_THREAD_CPUTIME_ID)
        profile = AgentProfile.of(take.bytes, "process #{take.process.pid}")
        tags = AgentMetrics.tags(profile.info).except(*@dropped)
        relabel(profile, sent.sets, tags)
        sent.deltas.change(profile, before: @began) do |from|
          @senders.map { |sender| [sender, sender.pack(profile, from, tags)] }.each { |sender, packed| sender.spool(packed) }
        end
      rescue FormatError, AgentRefusal => e
        sent.failed ||= Message.print("process #{take.process.pid}: not sent to receivers: #{e.message}") || true
      ensure
        sent.cost = now(Process::CLOCK_THREAD_CPUTIME_ID) - began if began
      end

      # No label has the name of a tag. The first label sets are sent as they are, of the sets that come together the largest.
      def relabel(profile, sets, tags)
        sizes = profile.sizes
        (sizes.keys - sets.keys).sort_by { |set| -sizes[set] }.first(KNOWN_SETS_MOST - sets.size).each do |set|
          text = Labels.text(Labels.parse(set).except(*@dropped).to_h { |name, value| [name_of(name, tags), value.to_s[0, LABEL_MOST]] })
          sets[set] = sets.values.include?(text) || sets.values.uniq.size < LABEL_SETS_MOST ? text : Labels::OTHER_TEXT
        end
        profile.relabel { |set| sets[set] || Labels::OTHER_TEXT }
      end

      # As receivers want it.
      def name_of(name, tags)
        name = name[0, LABEL_MOST].gsub(/\W/, "_").sub(/\A(?=\d)/, "_")
        tags.key?(name) || name == "service_name" || name.start_with?("__") ? "exported_#{name}" : name
      end
    end

    # Sends to one receiver, with a thread of its own. What cannot be sent waits in memory: an hour at most, and as long as there
    # is room; the oldest is dropped first.
    class AgentSender
      # Seconds, and bytes of all receivers.
      AGE_MOST, BYTES_MOST = 3600, 8 << 20
      # Seconds until a request is given up; to the next try at most, and if the receiver gives the time.
      TIMEOUT, BACKOFF_MOST, RETRY_AFTER_MOST = 30, 60, 600
      RESULTS = %w[sent refused expired failed].freeze
      STATES = {"sent" => "accepts profiles again", "failed" => "no profile can be sent, they wait for an hour at most: ", "refused" => "refuses profiles, which are dropped: "}.freeze
      # Errors of a connection, and what an answer that is not HTTP causes.
      FAILURES = [SystemCallError, SocketError, IOError, Timeout::Error, OpenSSL::SSL::SSLError, ::Net::ProtocolError, ::Net::HTTPBadResponse, ::Net::HTTPHeaderSyntaxError].freeze

      # A profile that waits: what AgentReceiver#pack gave, its bytes, and when it was made (monotonic).
      Waiting = Struct.new(:packed, :bytes, :at)

      # results: how many profiles were sent, refused or dropped (expired), and how many requests failed.
      attr_reader :results

      def initialize(receiver, bytes_most: BYTES_MOST, age_most: AGE_MOST, backoff: 1)
        @receiver, @bytes_most, @age_most, @backoff = receiver, bytes_most, age_most, backoff
        @lock, @filled, @waiting, @results, @failures, @state = Mutex.new, ConditionVariable.new, [], RESULTS.to_h { |name| [name, 0] }, 0, "sent"
      end

      def name = @receiver.name
      def pack(...) = @receiver.pack(...)
      def busy? = @lock.synchronize { @waiting.any? && @failures.zero? }

      def half_full? = @lock.synchronize { @waiting.sum(&:bytes) > @bytes_most / 2 }

      def spool(packed)
        @lock.synchronize do
          @waiting << Waiting.new(packed, packed.bytes, now)
          expire
          @filled.signal
        end
      end

      def run = @thread ||= Thread.new { loop { send_first } }

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def expire
        @results["expired"] += 1 while @waiting.any? && (now - @waiting.first.at > @age_most || @waiting.sum(&:bytes) > @bytes_most) && @waiting.shift
      end

      def first
        @lock.synchronize do
          @filled.wait(@lock) while expire || @waiting.empty?
          @waiting.first
        end
      end

      def send_first
        waiting = first
        result, reason, retry_after = attempt(waiting.packed)
        @lock.synchronize do
          @results[result] += 1
          @failures = result == "failed" ? @failures + 1 : 0
          @waiting.delete_if { |one| one.equal?(waiting) } unless result == "failed"
        end
        report(result, reason)
        sleep([[@backoff * 2**[@failures - 1, 10].min, BACKOFF_MOST].min * rand(0.75..1.25), retry_after.to_f].max) if result == "failed"
      rescue StandardError, NoMemoryError => e
        AgentQueue.failed(e)
        sleep BACKOFF_MOST
      end

      # One line when it begins to fail, and one when it works again.
      def report(result, reason)
        return if result == @state

        @state = result
        Message.print("#{name}: #{STATES[result]}#{reason}")
      end

      # Result, reason, and in how many seconds the receiver wants the next try.
      def attempt(packed)
        status, after, body = Timeout.timeout(TIMEOUT) { @receiver.post(packed) }
        return ["sent"] if status.between?(200, 299) && body.match?(/\A\s*(?:\{|\z)/)
        return ["failed", "its answer (#{status}) is not JSON; check the URL"] if status.between?(200, 299)

        reason = "it answers #{status}#{": #{@receiver.redact(body.strip[0, 200])}" unless body.strip.empty?}"
        return ["failed", reason, after.to_i.clamp(0, RETRY_AFTER_MOST)] if status >= 500 || [408, 429].include?(status)

        ["refused", status.between?(300, 399) ? "#{reason}; redirects are not followed, check the URL" : reason]
      rescue *FAILURES => e
        ["failed", @receiver.redact("#{e.class.name.split("::").last}: #{e.message}"[0, 200])]
      end
    end
  end
end
