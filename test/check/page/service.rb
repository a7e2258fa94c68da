# frozen_string_literal: true

# Profiles of a typical program: a web server and a framework above the application's code, a library
# and native code below it.
module PageProfiles
  GEMS = "/usr/lib/ruby/gems/3.4.0/gems"
  SERVER = [
    *Array.new(12) { |i| "#{GEMS}/rack-3.2.8/lib/rack/middleware_#{11 - i}.rb:#{30 + i} Rack::Middleware#{11 - i}#call" },
    *Array.new(6) { |i| "#{GEMS}/puma-8.0.2/lib/puma/server_#{5 - i}.rb:#{90 + i} Puma::Server#step_#{5 - i}" }
  ].freeze
  DEEP_FOLDER = "#{GEMS}/a-gem-with-a-long-name-12.345.6/lib/a_gem_with_a_long_name/internal/adapters/postgresql".freeze
  CONTROLLER = ["/srv/app/app/controllers/tickets_controller.rb:11 TicketsController#show", *SERVER].freeze
  CACHE = ["/srv/app/app/models/ticket/cache.rb:12 Ticket::Cache.store", *CONTROLLER].freeze
  QUERY = ["#{GEMS}/activerecord-8.1.4/lib/active_record/result.rb:173 ActiveRecord::Result#columns",
           "#{GEMS}/activerecord-8.1.4/lib/active_record/relation.rb:50 ActiveRecord::Relation#load",
           "/srv/app/app/models/ticket.rb:40 Ticket.latest", *CONTROLLER].freeze
  HANDS_ON = ["/srv/app/lib/job.rb:5 Job#perform", "#{GEMS}/puma-8.0.2/lib/puma/pool.rb:7 Puma::Pool#run"].freeze

  def service(step: 0, pid: 4711, **meta)
    build = Build.new(taken_ns: Build::STARTED + (step + 1) * Build::MINUTE, process_id: pid, process_start: format("%016x", pid),
                      gc: {"count" => 100 + 10 * step, "minor" => 80, "major" => 20}, **meta)
    build.row(CACHE, "String", birth: 90, inuse: 400)
    build.row(QUERY, "Array", type: "T_ARRAY", birth: 40, inuse: 150)
    build.row(HANDS_ON, "Hash", type: "T_HASH", birth: 40, inuse: 60)
    build.row(["#{GEMS}/rack-3.2.8/lib/rack/boot.rb:3 Rack.boot", "#{GEMS}/puma-8.0.2/lib/puma/cli.rb:1 Puma.cli"], "Proc", birth: 2, inuse: 50)
    build.row(["/srv/app/app/models/rare.rb:9 Rare#rare", *CONTROLLER], "Rare", birth: 2, inuse: 1)
    # Lines whose paths differ far behind.
    4.times { |i| build.row(["#{DEEP_FOLDER}/quoting_#{i}.rb:#{100 + i} AGemWithALongName::Internal::Adapters::Quoting#{i}#quote_table_name"], "String", birth: 3, inuse: 12 + i) }
    build.row(["/srv/app/app/models/leak.rb:7 Leak#now", *CONTROLLER], "Array", type: "T_ARRAY", birth: 100 + step, inuse: 40) if step > 0
    build.row(["/srv/app/app/models/noise.rb:2 Noise#some", *CONTROLLER], "Object", type: "T_OBJECT", birth: 3, inuse: 5 - step, slot: 640)
    build.profile
  end

  # A stack deeper than any window, of the application's frames alone.
  def deep
    frames = Array.new(90) { |i| "/srv/app/deep_#{89 - i}.rb:#{90 - i} Deep#step_#{89 - i}" }
    build = Build.new
    build.row(frames, "String", birth: 3, inuse: 300)
    150.times { |i| build.row(["/srv/app/many_#{i}.rb:#{i + 1} Many#line_#{i}", *frames.last(80)], "Object", birth: 3, inuse: 290 - i) }
    build.row(["/srv/app/tiny.rb:8 Tiny#tiny", "/srv/app/side.rb:1 Side#side"], "Tiny", birth: 3, inuse: 1)
    build.profile
  end

  # What the page opens with, as HeapSample::Diagnosis has it.
  Diagnosed = Struct.new(:told) do
    def to_h = told
  end

  def diagnosis
    leak = {kind: :leak, grade: "likely", line: "#{GEMS}/activerecord-8.1.4/lib/active_record/result.rb:173 ActiveRecord::Result#columns",
            app_line: "/srv/app/app/models/ticket/cache.rb:12 Ticket::Cache.store", class: "String", bytes: 80 << 20, bytes_per_hour: 9.5 * (1 << 30),
            interval_per_hour: [8.5 * (1 << 30), 10.5 * (1 << 30)], keeper: {line: "app/models/ticket/cache.rb:13", what: "a Hash that grows"},
            evidence: ["Of 48.0 MiB that came, 100% (92 – 100%) is still there after 3 major GCs.", "It grew in each of 5 steps."],
            next: ["Give the Hash a limit."], stack: ["Ticket::Cache.store app/models/ticket/cache.rb:12", "TicketsController#show app/controllers/tickets_controller.rb:11"]}
    boot = {kind: :leak, grade: "unknown", line: "rack-3.2.8/lib/rack/boot.rb:3 Rack.boot", app_line: "rack-3.2.8/lib/rack/boot.rb:3 block in Rack.boot", class: "Proc", bytes: 1 << 20,
            bytes_per_hour: -(5 << 20), interval_per_hour: [-(9 << 20), 3 << 20], keeper: nil, evidence: ["Two of five steps went down."], next: [], stack: []}
    Diagnosed.new({verdict: {kind: :leak, grade: "likely", sentence: "Leak (likely): app/models/ticket/cache.rb:12 retains more."}, findings: [leak, boot],
                   evidence: ["RSS rose by 90.0 MiB in 2 min."], next: ["Look at the first line first."],
                   processes: [{pid: 4711, role: "worker 0", rss: 250 << 20, growth: 90 << 20, verdict: {kind: :leak, grade: "likely", sentence: "Leak (likely)."}},
                               {pid: 4700, role: "master", rss: 80 << 20, growth: -(2 << 20), verdict: {kind: :steady, grade: "none", sentence: "No leak found."}}]})
  end

  # The same of names that somebody chose with care.
  def hostile_diagnosis(names)
    text = names.join(" ")
    list = names.reject(&:empty?)
    finding = {kind: text, grade: text, line: "#{text}.rb:1", app_line: text, class: text, bytes: 1, bytes_per_hour: 2.0, interval_per_hour: [1, 2],
               keeper: {line: text, what: text}, evidence: list, next: list, stack: list}
    verdict = {kind: text, grade: text, sentence: text}
    Diagnosed.new({verdict: verdict, findings: [finding] * 5, processes: [{pid: text, role: text, rss: nil, growth: nil, verdict: verdict}] * 2})
  end
end
