# frozen_string_literal: true

module HeapSample
  module Tool
    # One page of metrics of all processes, in the text of OpenMetrics 1.0 or of Prometheus 0.0.4. The labels app, worker
    # and deploy are the same after a restart; pid keeps processes apart that share them. Processes choose the names in
    # labels, so these are cut and escaped.
    class AgentMetrics
      OPEN = "application/openmetrics-text"
      TYPES = {true => "#{OPEN}; version=1.0.0; charset=utf-8", false => "text/plain; version=0.0.4; charset=utf-8"}.freeze
      # Name without _total; type, unit and help.
      ALL = {
        "ruby_heap_agent_up" => [:gauge, nil, "1 if the process answered in time, else 0."],
        "ruby_info" => [:info, nil, "The Ruby that runs, and the title of the process."],
        "process_resident_memory_bytes" => [:gauge, "bytes", "Resident memory; the sum of ruby_memory_bytes."],
        "ruby_memory_bytes" => [:gauge, "bytes", "Resident memory by part."],
        "ruby_memory_proportional_bytes" => [:gauge, "bytes", "Resident memory; shared pages count in parts (PSS)."],
        "ruby_stacks_bytes" => [:gauge, "bytes", "Resident memory of the stacks of threads and fibers."],
        "ruby_jemalloc_bytes" => [:gauge, "bytes", "Figures of jemalloc; virtual memory, too."],
        "ruby_gc_runs" => [:counter, nil, "Garbage collections."],
        "ruby_gc_seconds" => [:counter, "seconds", "CPU time of garbage collections."],
        "ruby_threads" => [:gauge, nil, "Threads by state."],
        "ruby_fibers" => [:gauge, nil, "Fibers by state."],
        "ruby_heap_sampler_running" => [:gauge, nil, "1 while the heap is sampled, else 0."],
        "ruby_heap_sampler_interval_bytes" => [:gauge, "bytes", "Mean bytes between two samples of slots."]
      }.freeze
      LABEL_MOST = 120
      # Folders that change with each deploy: the application is the folder around them.
      RELEASE = %r{/(?:current|releases/[^/]+)/*\z}
      WORKER = /\bworker\W{0,2}(\d{1,4})\b/

      # +reports+: of AgentProcesses; +open+: OpenMetrics.
      def self.page(reports, open)
        lines = reports.flat_map { |process, report| new(process.pid, report).lines }.group_by(&:first)
        ALL.filter_map { |name, about| [head(name, *about, open), *lines[name].map(&:last)] if lines[name] }.join("\n") + (open ? "\n# EOF\n" : "\n")
      end

      def self.head(name, type, unit, help, open)
        name = "#{name}_total" if type == :counter && !open
        name = name.delete_suffix("_info") if type == :info && open
        ["# HELP #{name} #{help}", "# TYPE #{name} #{type == :info && !open ? "gauge" : type}", *("# UNIT #{name} #{unit}" if open && unit)]
      end
      private_class_method :head

      # [name, line] of each sample.
      attr_reader :lines

      def initialize(pid, report)
        @lines, @labels = [], {"pid" => pid.to_s}
        report ? add_report(**report) : add("ruby_heap_agent_up", 0)
      end

      private

      def add_report(account:, alive:, raw:, directory: nil, title: nil, deploy: nil, ruby: nil, gc: nil, sampling: nil, interval: nil, **)
        @labels = {"app" => File.basename(directory.to_s.sub(RELEASE, "")), "worker" => title.to_s[WORKER, 1], "deploy" => deploy, **@labels}
        {"ruby_heap_agent_up" => 1, "process_resident_memory_bytes" => account.rss, "ruby_memory_proportional_bytes" => account.pss, "ruby_gc_seconds" => gc&.dig(:ns)&.fdiv(10**9),
         "ruby_heap_sampler_running" => sampling ? 1 : 0, "ruby_heap_sampler_interval_bytes" => interval}.each { |name, value| add(name, value) }
        add("ruby_info", 1, "description" => ruby, "title" => title)
        add_all("ruby_memory_bytes", "part", account.parts)
        add_all("ruby_stacks_bytes", "of", {"threads" => account["thread_stacks"], "fibers" => account["fiber_stacks"]})
        add_all("ruby_jemalloc_bytes", "state", raw.dig("account", "jemalloc").then { |values| values.is_a?(Hash) ? values.slice(*Account::JEMALLOC) : {} })
        add_all("ruby_gc_runs", "kind", gc.to_h.slice(:minor, :major))
        Alive::KINDS.each_key { |kind| add_all("ruby_#{kind}", "state", alive[kind].states) }
      end

      def add_all(name, label, values) = values.each { |key, value| add(name, value, label => key) }

      def add(name, value, labels = {})
        return unless value.is_a?(Numeric) && value >= 0

        texts = {**@labels, **labels}.map { |label, text| "#{label}=\"#{escaped(text.to_s)}\"" }
        @lines << [name, "#{name}#{"_total" if ALL.fetch(name).first == :counter}{#{texts.join(",")}} #{value}"]
      end

      # Printable writes what ends a line as two characters.
      def escaped(text) = Printable.text(text)[0, LABEL_MOST].gsub(/["\\]/) { |char| "\\#{char}" }
    end
  end
end
