# frozen_string_literal: true

module HeapSample
  # The head of a report: what was sampled, when, and how well.
  class Header
    # Lines with the filters of a filtered profile.
    def self.part(profile, layout)
      profile.filtered ? layout.sentence("A part of the profile, filtered: #{profile.filtered}") : []
    end

    # Of a HeapSample::Meta.
    def initialize(info, layout)
      @info = info
      @layout = layout
    end

    # Lines of text, without what the profile does not have.
    def lines
      [process, sampling, malloc, collections, forced, own, *warnings].compact.flat_map { |text| @layout.sentence(text) }
    end

    private

    def process
      return merged if @info.merged?
      return "Heap dump#{", written #{@info.taken.utc.strftime("%Y-%m-%d %H:%M:%S UTC")}" if @info.taken}. All figures are counted." if @info.dump?

      id = @info.process_id
      ["Heap sample#{" of process #{id}" if id}", @info.title, origin, @info.ruby].compact.join(", ")
    end

    # The host and the version of the application, where the file has them.
    def origin
      parts = [("on #{@info.host}" if @info.host), ("deploy #{@info.deploy}" if @info.deploy)].compact
      parts.join(", ") unless parts.empty?
    end

    def merged
      processes, profiles = @info.merged_processes, @info.merged_profiles
      count = "#{@layout.count(processes)} process#{"es" unless processes == 1}"
      [profiles == processes ? "Heap samples of #{count}, merged" : "Heap samples of #{count}, merged from #{@layout.count(profiles)} profiles",
       @info.ruby].compact.join(", ")
    end

    def sampling
      return if @info.dump?

      taken, started = @info.taken, @info.started
      parts = []
      parts << "taken #{taken.utc.strftime("%Y-%m-%d %H:%M:%S UTC")}" if taken
      parts << "#{@layout.duration(taken - started)} after sampling started" if taken && started && taken >= started
      parts << interval
      parts.compact.join(", ").then { |text| text.empty? ? nil : text }
    end

    def interval
      one_per(@info.interval, @info.first_interval, @info.interval_auto?) if @info.interval
    end

    def one_per(interval, first, auto)
      text = "one sample per #{@layout.setting(interval)} allocated"
      notes = []
      notes << "auto" if auto
      notes << "#{@layout.setting(first)} at first" if first && first != interval
      notes.empty? ? text : "#{text} (#{notes.join(", ")})"
    end

    # What is known of malloc'd memory, and how to know more.
    def malloc
      allocator = @info.malloc_allocator
      case @info.malloc_state
      when "on"
        ["malloc: #{one_per(@info.malloc_interval || 0, @info.malloc_first_interval, @info.malloc_interval_auto?)}", allocator].compact.join(", ") +
          (@info.malloc_missing ? "; missing: #{@info.malloc_missing}" : "")
      when "standby"
        "malloc: not sampled, on standby: GC::SampleProfile.start starts it"
      when "off"
        "malloc: not sampled: #{@info.malloc_missing || "start Ruby with --heap-sample=malloc=on to see it"}"
      when "missing"
        ["malloc: not sampled#{" (#{allocator})" if allocator}", @info.malloc_missing].compact.join(": ")
      end
    end

    def collections
      return if @info.gc_count.nil? || @info.merged? || @info.dump?

      last = @info.last_major
      last = if last.nil? then "none yet"
             elsif @info.taken && @info.taken >= last then "the last #{@layout.duration(@info.taken - last)} before"
             else "the last at #{last.utc.strftime("%H:%M:%S UTC")}"
             end
      "#{@layout.count(@info.gc_count)} GC#{"s" unless @info.gc_count == 1}: #{@layout.count(@info.gc_minor || 0)} minor, " \
        "#{@layout.count(@info.gc_major || 0)} major (#{last})"
    end

    # What the sampler has forced on the process, and why there was no GC where one was wanted.
    def forced
      work = @info.forced or return
      parts = []
      if work.any?
        work_done = "#{several(work.gcs, "major GC")} and #{several(work.walks, "heap walk")}"
        parts << "#{work_done} took #{percent(work.share)} of the run time, and stopped Ruby code for #{@layout.time(work.longest_stop)} at most"
      end
      parts << work.why if %i[unfinished over_budget no_safe_point refused].include?(work.last)
      "Forced by the sampler: #{parts.join("; ")}" unless parts.empty?
    end

    def several(count, what) = "#{@layout.count(count)} #{what}#{"s" unless count == 1}"

    def percent(share) = "#{(share * 100).round(share < 0.01 ? 2 : 1)}%"

    def own
      samples = @info.live_samples
      parts = []
      parts << "#{@layout.count(samples)} live samples" if samples
      parts << "the sampler itself uses #{@layout.bytes(@info.own_bytes)}" if @info.own_bytes
      parts.join(", ") unless parts.empty?
    end

    def warnings
      lines = []
      unless @info.drops.empty?
        drops = @info.drops.map { |what, count| "#{@layout.count(count)} #{what}" }.join(", ")
        lines << "Warning: the sampler's tables were full, so #{drops} were dropped. The figures below lack them."
      end
      lines
    end
  end
end
