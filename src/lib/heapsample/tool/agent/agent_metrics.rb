# frozen_string_literal: true

module HeapSample
  module Tool
    # One page of metrics of all processes, in the text of OpenMetrics 1.0 or of Prometheus 0.0.4. The labels app, worker
    # and deploy are the same after a restart; pid keeps processes apart that share them. Processes choose the names in
    # labels, so these are cut and escaped.
    class AgentMetrics
      OPEN = "application/openmetrics-text"
      TYPES = {true => "#{OPEN}; version=1.0.0; charset=utf-8", false => "text/plain; version=0.0.4; charset=utf-8"}.freeze
      SECONDS = ->(nanoseconds) { nanoseconds&.fdiv(10**9) }
      BOTH = ->(slots, malloc) { {["slots"] => slots, ["malloc"] => malloc} }
      # Each value of a Hash that is in what a process has sent, by its name.
      RAW = ->(names, values) { values.is_a?(Hash) ? values.slice(*names).transform_keys { |name| [name] } : {} }
      SLOTS = lambda do |heap|
        size, total, live = heap.values_at(:slot_size, :total_slots, :live_slots)
        size && total && live ? {["live", size] => live, ["free", size] => [total - live, 0].max} : {}
      end
      # A figure of GCs by reason.
      CAUSES = lambda do |report, name|
        list = report.dig(:raw, "gc", "causes")
        (list.is_a?(Array) ? list.grep(Hash) : []).select { |cause| GCRecord::REASONS.key?(cause["reason"]) }.to_h { |cause| [[cause["reason"]], cause[name]] }
      end
      LIMIT = ->(report, name) { {[report[:account].limit&.machine ? "machine" : "cgroup"] => report[:account][name]} }
      # Name without _total, which a unit may end; type; help; names of labels; what of a report: a number, or one for each
      # list of the labels' values.
      ALL = {
        "ruby_heap_agent_up" => [:gauge, "1 if the process answered in time, else 0.", [], ->(report) { report[:up] }],
        "ruby_heap_agent_ended_processes" => [:counter, "Ended processes; normal=\"false\": killed, crashed, or ended by exit!.", %w[normal], ->(report) { RAW[[true, false], report[:ended]] }],
        "ruby_heap_agent_sent" => [:counter, "Profiles for receivers of --to; of failed: requests.", %w[to result], ->(report) { report[:sent] }],
        "ruby_info" => [:info, "The Ruby that runs, and the title of the process.", %w[description title], ->(report) { {report.values_at(:ruby, :title) => (1 if report[:ruby])} }],
        "process_start_time_seconds" => [:gauge, "Unix time of the start of the process.", [], ->(report) { report[:started] }],
        "process_cpu_seconds" => [:counter, "CPU time of the process, in user and system mode.", [], ->(report) { report[:cpu] }],
        "process_resident_memory_bytes" => [:gauge, "Resident memory; the sum of ruby_memory_bytes.", [], ->(report) { report[:account].rss }],
        "ruby_memory_bytes" => [:gauge, "Resident memory by part.", %w[part], ->(report) { RAW[Account::PARTS.keys, report[:account].parts] }],
        "ruby_memory_limit_bytes" => [:gauge, "Memory limit that is nearest: of a cgroup, or the memory of the machine.", %w[of], ->(report) { LIMIT[report, "limit_bytes"] }],
        "ruby_memory_limit_used_bytes" => [:gauge, "What counts against that limit; other processes, too.", %w[of], ->(report) { LIMIT[report, "limit_used"] }],
        "ruby_heap_leak" => [:gauge, "1 for each line that leaks.", %w[line grade], ->(report) { report[:verdict].leaks.to_h { |leak| [leak, 1] } }],
        "ruby_heap_seconds_to_limit" => [:gauge, "Seconds until the limit is reached at the present growth.", [], ->(report) { report[:verdict].to_limit }],
        "ruby_memory_proportional_bytes" => [:gauge, "Resident memory; shared pages count in parts (PSS).", [], ->(report) { report[:account].pss }],
        "ruby_stacks_bytes" => [:gauge, "Resident memory of the stacks of threads and fibers.", %w[of],
                                ->(report) { {["threads"] => report[:account]["thread_stacks"], ["fibers"] => report[:account]["fiber_stacks"]} }],
        "ruby_jemalloc_bytes" => [:gauge, "Figures of jemalloc; virtual memory, too.", %w[state], ->(report) { RAW[Account::JEMALLOC, report[:raw].dig("account", "jemalloc")] }],
        "ruby_gc_runs" => [:counter, "Garbage collections.", %w[kind], ->(report) { RAW[%i[minor major], report[:gc]] }],
        "ruby_gc_seconds" => [:counter, "CPU time of garbage collections.", [], ->(report) { SECONDS[report[:gc][:ns]] }],
        "ruby_gc_reason_runs" => [:counter, "Garbage collections by reason, since the process began.", %w[reason], ->(report) { CAUSES[report, "gcs"] }],
        "ruby_gc_reason_seconds" => [:counter, "CPU time of garbage collections by reason.", %w[reason], ->(report) { CAUSES[report, "ns"].transform_values(&SECONDS) }],
        "ruby_gc_longest_pause_seconds" => [:gauge, "The longest pause of a garbage collection.", [], ->(report) { SECONDS[CAUSES[report, "longest_stop_ns"].values.grep(Integer).max] }],
        "ruby_gc_last_major_timestamp_seconds" => [:gauge, "Unix time of the last major garbage collection while sampling was on.", [], ->(report) { SECONDS[report[:gc][:last_major_ns]] }],
        "ruby_heap_slots" => [:gauge, "Slots of heap pages, by the bytes of a slot.", %w[state slot_size], ->(report) { report[:heaps].map(&SLOTS).inject({}, :merge) }],
        "ruby_threads" => [:gauge, "Threads by state.", %w[state], ->(report) { RAW[Population::STATES, report[:raw].dig("alive", "threads")] }],
        "ruby_fibers" => [:gauge, "Fibers by state.", %w[state], ->(report) { RAW[Population::STATES, report[:raw].dig("alive", "fibers")] }],
        "ruby_heap_sampler_running" => [:gauge, "1 while the heap is sampled, else 0.", [], ->(report) { report[:sampling] ? 1 : 0 }],
        "ruby_heap_sampler_interval_bytes" => [:gauge, "Mean bytes between two samples.", %w[of], ->(report) { BOTH[report[:interval], report[:malloc]["interval"]] }],
        "ruby_heap_sampler_live_samples" => [:gauge, "Samples of live memory.", %w[of], ->(report) { BOTH[*report[:sampler].values_at(:live_samples, :malloc_live_samples)] }],
        "ruby_heap_sampler_samples" => [:counter, "Samples that were taken.", %w[of], ->(report) { BOTH[*report[:sampler].values_at(:samples, :malloc_samples)] }],
        "ruby_heap_sampler_dropped_samples" => [:counter, "Samples that were lost because the memory of the sampler was full.", [], ->(report) { report[:sampler][:dropped_samples] }],
        "ruby_heap_sampler_memory_bytes" => [:gauge, "Memory of the sampler.", [], ->(report) { report[:sampler][:bytes] }],
        "ruby_heap_sampler_memory_limit_bytes" => [:gauge, "Limit of that memory.", [], ->(report) { report[:sampler][:bytes_max] }],
        "ruby_heap_sampler_service_cpu_seconds" => [:counter, "CPU time of the thread that answers on the control socket.", [], ->(report) { SECONDS[report[:sampler][:thread_ns]] }]
      }.freeze
      UP, ENDED, SENT = ALL.keys
      # What an answer may leave out.
      EMPTY = {gc: {}, heaps: [], malloc: {}, sampler: {}, verdict: AgentWarnings::NONE}.freeze
      LABEL_MOST = 120
      # Folders that change with each deploy: the application is the folder around them.
      RELEASE = %r{/(?:current|releases/[^/]+)/*\z}
      WORKER = /\bworker\W{0,2}(\d{1,4})\b/

      # Of the Meta of a profile: what is the same in all of its samples. The values are not the process's to choose freely.
      def self.tags(info)
        names = names(info.directory.to_s, info.title.to_s, info.deploy)
        {"service" => names["app"], "host" => info.host || Socket.gethostname, **names}.compact.transform_values { |text| Printable.text(text)[0, LABEL_MOST] }.reject { |_, text| text.empty? }
      end

      def self.names(directory, title, deploy)
        app = File.basename(directory.sub(RELEASE, ""))
        {"app" => app.empty? ? "ruby" : app, "worker" => title[WORKER, 1], "deploy" => deploy}
      end

      # +reports+ and +ended+: of AgentProcesses; +open+: OpenMetrics; +sent+: {[receiver, result] => profiles}.
      def initialize(reports, ended, open, sent = {})
        @open, @lines = open, Hash.new { |lines, name| lines[name] = [] }
        add([ENDED, SENT], {ended: ended, sent: sent}, {})
        reports.each do |process, report|
          report &&= {up: 1, **EMPTY, **report.compact}
          add(report ? ALL.keys - [ENDED, SENT] : [UP], report || {up: 0}, {**labels(**report.to_h), "pid" => process.pid})
        end
      end

      def to_s = ALL.keys.filter_map { |name| [*head(name, *ALL[name]), *@lines[name]] if @lines.key?(name) }.join("\n") + (@open ? "\n# EOF\n" : "\n")

      private

      def labels(up: 0, directory: "", title: "", deploy: nil, **)
        up.zero? ? {} : AgentMetrics.names(directory, title, deploy)
      end

      def add(names, report, labels)
        names.each do |name|
          type, _, more, value = ALL[name]
          values = value[report]
          (values.is_a?(Hash) ? values : {[] => values}).each do |texts, number|
            next unless number.is_a?(Numeric) && number >= 0

            list = labels.merge(more.zip(texts).to_h).map { |label, text| "#{label}=\"#{escaped(text.to_s)}\"" }
            @lines[name] << "#{name}#{"_total" if type == :counter}{#{list.join(",")}} #{number}"
          end
        end
      end

      def head(name, type, help, *)
        unit = name[/_(bytes|seconds)\z/, 1]
        name = "#{name}_total" if type == :counter && !@open
        name = name.delete_suffix("_info") if type == :info && @open
        ["# HELP #{name} #{help}", "# TYPE #{name} #{type == :info && !@open ? "gauge" : type}", *("# UNIT #{name} #{unit}" if @open && unit)]
      end

      # Printable writes what ends a line as two characters.
      def escaped(text) = Printable.text(text)[0, LABEL_MOST].gsub(/["\\]/) { |char| "\\#{char}" }
    end
  end
end
