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
        @lines = []
        @labels = {"pid" => pid.to_s}
        return add("ruby_heap_agent_up", 0) unless report

        @labels = {"app" => File.basename(report[:directory].to_s.sub(RELEASE, "")), "worker" => report[:title].to_s[WORKER, 1], "deploy" => report[:deploy], **@labels}
        add("ruby_heap_agent_up", 1)
        add("ruby_info", 1, "description" => report[:ruby], "title" => report[:title])
        add_memory(report[:account], report.dig(:raw, "account", "jemalloc"))
        add_activity(report[:gc] || {}, report[:alive])
        add("ruby_heap_sampler_running", report[:sampling] ? 1 : 0)
        add("ruby_heap_sampler_interval_bytes", report[:interval])
      end

      private

      def add_memory(account, jemalloc)
        add("process_resident_memory_bytes", account.rss)
        add("ruby_memory_proportional_bytes", account.pss)
        account.parts.each { |part, bytes| add("ruby_memory_bytes", bytes, "part" => part) }
        %w[threads fibers].each { |kind| add("ruby_stacks_bytes", account["#{kind.chop}_stacks"], "of" => kind) }
        Account::JEMALLOC.each { |state| add("ruby_jemalloc_bytes", jemalloc[state], "state" => state) } if jemalloc.is_a?(Hash)
      end

      def add_activity(gc, alive)
        %i[minor major].each { |kind| add("ruby_gc_runs", gc[kind], "kind" => kind.to_s) }
        add("ruby_gc_seconds", gc[:ns] && gc[:ns] / 1e9)
        Alive::KINDS.each_key { |kind| alive[kind].states.each { |state, count| add("ruby_#{kind}", count, "state" => state) } }
      end

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
