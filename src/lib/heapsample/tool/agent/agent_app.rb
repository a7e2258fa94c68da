# frozen_string_literal: true

require "cgi/escape"
require "heapsample/web"
require "json"

module HeapSample
  module Tool
    # The Rack application of the agent. It decides on type and length of each answer: what a process sends is a body, and
    # nothing else.
    class AgentApp
      TEXT = "text/plain; charset=utf-8"
      HEADERS = {"cache-control" => "no-store", "x-content-type-options" => "nosniff", "x-frame-options" => "DENY", "referrer-policy" => "no-referrer",
                 "content-security-policy" => "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"}.freeze
      # Where Basic is named, a browser asks for the password, and sends it with requests of other sites, too.
      MORE = {401 => {"www-authenticate" => "Bearer realm=\"heapsample agent\""}, 405 => {"allow" => "GET"}, 503 => {"retry-after" => "5"}}.freeze
      # Where go tool pprof asks for names of native code by POST.
      SYMBOL = "/debug/pprof/symbol"
      # Path => the method that answers, and the parameters that it takes.
      PATHS = {"/" => [:list], "/metrics" => [:metrics], SYMBOL => [:symbol], "/memory" => [:memory, "pid"], "/debug/pprof/heap" => [:heap, "pid", "gc", "why", "seconds"],
               "/debug/pprof/allocs" => [:allocs, "pid", "gc", "why", "seconds"], "/debug/pprof/delta_heap" => [:delta_heap, "pid", "gc", "seconds"]}.freeze
      RANGES = {"pid" => 1..1 << 30, "gc" => 0..1, "why" => 0..1, "seconds" => 1..600}.freeze
      # The page of a process.
      PAGE = %r{\A/([1-9]\d{0,9})(/[a-z.]*)?\z}
      LIST = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ruby processes</title></head>\n<body>\n<h1>Ruby processes</h1>\n" \
             "<table>\n<tr><th>PID</th><th>title</th><th>RSS</th><th>RSS growth an hour</th><th>verdict</th></tr>\n%s</table>\n</body></html>\n"
      ROW = "<tr><td><a href=\"/%<pid>d/\">%<pid>d</a></td><td>%<title>s</td><td>%<rss>s</td><td>%<growth>s</td><td>%<verdict>s</td></tr>\n"

      # +senders+: AgentSender.
      def initialize(door, processes, warnings, senders = []) = (@door, @processes, @warnings, @senders = door, processes, warnings, senders)

      def call(env) = finish(env, *respond(env))

      # What Puma refuses by itself: a request that it cannot read.
      def unreadable(_error, env = {}, status = 400) = finish(env, *text(status, "The request cannot be read. Send one request as in HTTP/1.1."))

      private

      def finish(env, status, headers, body)
        [status, {**HEADERS, **headers, "content-length" => body.bytesize.to_s}, env["REQUEST_METHOD"] == "HEAD" ? [] : [body]]
      end

      def respond(env)
        path = env["PATH_INFO"]
        page = PAGE.match(path)
        raise AgentRefusal.new(405, "This method is not supported. Use GET.") unless page || path == SYMBOL || env["REQUEST_METHOD"] == "GET"
        return [303, {"content-type" => TEXT, "set-cookie" => @door.admit(env), "location" => "/"}, ""] if path.start_with?(AgentDoor::PATH)

        entered = @door.enter(env)
        page ? page(env, page[1].to_i, page[2].to_s) : answer(env, entered)
      rescue AgentRefusal => e
        text(e.status, e.message)
      rescue LiveProcess::Refused, FormatError => e
        text(e.is_a?(LiveSocket::Declined) ? 503 : 502, e.message)
      rescue StandardError, NoMemoryError, SystemStackError => e
        Message.print("internal error, please report it: #{e.class} (#{e.backtrace&.first})")
        text(500, "The agent has failed. Its stderr has more.")
      end

      def answer(env, entered)
        name, *parameters = PATHS[env["PATH_INFO"]]
        raise AgentRefusal.new(404, "No such page. There are #{PATHS.keys.join(", ")}.") unless name

        asked = parameters(env, parameters)
        forced = asked.keys & %i[gc why seconds]
        raise AgentRefusal.new(403, "A browser cannot ask for #{forced.join(", ")}. Send the token, or use the Unix socket.") if entered == :cookie && forced.any?
        raise AgentRefusal.new(400, "A difference has no heap walk. Give seconds or why, not both.") if asked.key?(:seconds) && asked.key?(:why)

        %i[list metrics symbol].include?(name) ? send(name, env) : @processes.one(asked.delete(:pid)).then { |process| process.within { send(name, process, **asked) } }
      end

      # Whole numbers, each at most once; a zero is the same as none.
      def parameters(env, allowed)
        pairs = env["QUERY_STRING"].to_s.split("&").map { |pair| pair.split("=", 2) }
        raise AgentRefusal.new(400, "A parameter is repeated. Give each parameter once.") unless pairs.map(&:first).uniq.size == pairs.size
        raise AgentRefusal.new(400, "A parameter is unknown here. Known are: #{[*allowed, "no others"].join(", ")}.") unless (pairs.map(&:first) - allowed).empty?

        pairs.to_h do |name, value|
          raise AgentRefusal.new(400, "The value of #{name} is invalid. Give a whole number in #{RANGES[name]}.") unless value.to_s.match?(/\A\d{1,10}\z/) && RANGES[name].cover?(value.to_i)

          [name.to_sym, value.to_i]
        end.reject { |_, value| value.zero? }
      end

      def text(status, sentence) = [status, {"content-type" => TEXT, **MORE.fetch(status, {})}, "#{Printable.text(sentence)}\n"]
      def pprof(bytes) = [200, {"content-type" => "application/octet-stream", "content-disposition" => "attachment; filename=\"heap.pb.gz\""}, bytes]

      def symbol(_env) = [200, {"content-type" => TEXT}, "num_symbols: 0\n"]

      def list(_env)
        layout = Layout.new
        rows = @processes.reports.map do |process, report|
          verdict, rss = @warnings.verdict(process), report&.dig(:account)&.rss
          title, verdict_text = [report ? report[:title].to_s : "(no answer in time)", verdict.sentence].map { |text| CGI.escapeHTML(Printable.text(text)) }
          format(ROW, pid: process.pid, title: title, rss: rss ? "#{rss >> 20} MiB" : "?", growth: verdict.growth ? layout.bytes(verdict.growth, sign: true) : "?", verdict: verdict_text)
        end
        [200, {"content-type" => "text/html; charset=utf-8"}, format(LIST, rows.join)]
      end

      def metrics(env)
        open = env["HTTP_ACCEPT"].to_s.include?(AgentMetrics::OPEN)
        [200, {"content-type" => AgentMetrics::TYPES[open]}, AgentMetrics.new(judged, @processes.ended, open, sent).to_s]
      end

      def judged = @processes.reports.to_h { |process, report| [process, report&.merge(verdict: @warnings.verdict(process))] }

      def sent = @senders.flat_map { |sender| sender.results.map { |result, count| [[sender.name, result], count] } }.to_h

      # As LiveURL#memory reads it.
      def memory(process) = [200, {"content-type" => "application/json"}, JSON.generate(process.report.value[:raw])]

      # The application of the process, below its PID.
      def page(env, pid, path)
        parameters(env, [])
        process = @processes.one(pid)
        status, headers, body = process.within { process.web.call(env.merge("SCRIPT_NAME" => "/#{pid}", "PATH_INFO" => path)) }
        [status, {**headers, **HEADERS.slice("referrer-policy", "x-frame-options")}, body.join]
      end

      def heap(process, seconds: nil, **forced) = seconds ? delta(process, seconds, forced) : relay(process, **forced)
      def allocs(process, seconds: nil, **forced) = seconds ? delta(process, seconds, forced, "alloc_space") : relay(process, type: "alloc_space", **forced)

      def relay(process, **asked)
        bytes = process.bytes(**asked)
        bytes.start_with?(PprofReader::GZIP_MAGIC) ? pprof(bytes) : raise(FormatError, "process #{process.pid}: its answer is not a profile; try again")
      end

      def delta_heap(process, seconds: nil, **forced)
        seconds ? delta(process, seconds, forced) : pprof(process.deltas.since_last { forced.empty? ? process.own_bytes : process.bytes(**forced) })
      end

      def delta(process, seconds, forced, *first)
        deltas = AgentDeltas.new
        deltas.since_last { process.bytes(**forced) }
        sleep seconds
        pprof(deltas.since_last(*first) { process.bytes(**forced) })
      end
    end
  end
end
