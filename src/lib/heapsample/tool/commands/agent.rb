# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Serves the processes of this machine over HTTP.
      class Agent < Command
        TASK = "Look at a running process"
        SUMMARY = "serve metrics, pprof profiles and pages of the Ruby processes on this machine over HTTP"
        USAGE = "[options]"
        EXAMPLES = <<~TEXT
          heapsample agent
          heapsample agent --keep /var/tmp/heap-agent --keep-size 500m
          heapsample agent --http 127.0.0.1:6060 --token-file /etc/heap-token
          heapsample agent --http 127.0.0.1:6060 --token-file /etc/heap-token --tls-in-front heap.example.com
        TEXT
        HELP = <<~TEXT
          Serves /metrics, /debug/pprof/heap, /debug/pprof/allocs, /debug/pprof/delta_heap, and a page of each
          process below /. The agent needs the gem puma.
          The default address is a Unix socket that only your user can open: ruby-heap-UID/agent.sock, below
          $XDG_RUNTIME_DIR, $TMPDIR or /tmp. Over TCP each request needs the token of the token file: as a
          Bearer token, or as the password of Basic. For a browser the agent prints a URL, which works once.
          The signal USR1 makes the agent print another URL. Each process is asked for a profile every 15
          seconds. stderr names each process that leaks, that was killed, or whose memory limit is near.
        TEXT
        PUMA = 6
        # Slow clients wait in Puma's reactor; requests that wait for a process hold a thread.
        SERVER = {min_threads: 4, max_threads: 256, first_data_timeout: 10, persistent_timeout: 20, environment: "production", http_content_length_limit: 1 << 20}.freeze

        def call(arguments)
          expect(arguments, 0..0, "")
          load_puma
          address = AgentAddress.new(options[:http] || AgentAddress.default, *options.values_at(:token_file, :name))
          door = AgentDoor.new((LiveToken.read(options[:token_file], secret: true).token if options[:token_file]), options[:name])
          processes = AgentProcesses.new(options[:share])
          warnings = AgentWarnings.new
          senders = Array(options[:to]).map { |receiver| AgentSender.new(receiver, bytes_most: AgentSender::BYTES_MOST / options[:to].size) }
          sending = AgentSending.new(senders, Array(options[:dropped])) if senders.any?
          watch = AgentWatch.new(processes, [warnings, *consumers, *sending].each(&:run))
          serve(address, door, AgentApp.new(door, processes, warnings, senders)) { watch.run }
        ensure
          sending&.finish
        end

        private

        # What else gets the profiles of all processes; each has a thread of its own.
        def consumers = [*(AgentStore.new(options[:keep], options[:keep_size] || 1 << 30) if options[:keep])]

        def define_options(parser)
          parser.on("--http ADDRESS", "unix:PATH, or HOST:PORT with --token-file (default: the Unix socket above)") { |address| options[:http] = address }
          parser.on("--token-file FILE", "file of yours with the token, which no other user may read (default: none)") { |path| options[:token_file] = path }
          parser.on("--tls-in-front NAME", "host name that a proxy with TLS in front of the agent serves (default: none)") { |name| options[:name] = name }
          parser.on("--keep FOLDER", "folder of yours for the profiles of all processes (default: none)") { |folder| options[:keep] = folder }
          parser.on("--keep-size SIZE", "size of that folder at most, such as 500m or 2g (default: 1g)") { |size| options[:keep_size] = size("--keep-size", size) }
          parser.on("--to ADDRESS", "send profiles once a minute to pyroscope, otel or datadog, or to a URL such as",
                    "pyroscope+http://127.0.0.1:4040; repeatable (default: none)") { |to| (options[:to] ||= []) << AgentReceiver.new(to) }
          parser.on("--drop-label NAME", "label that is not sent to receivers; repeatable (default: none)") { |name| (options[:dropped] ||= []) << name }
          parser.on("--diagnose SHARE", "share of the run time for GCs and heap walks that the agent starts for",
                    "its pages and deltas, such as 1% (default: off)") { |share| options[:share] = share("--diagnose", share) }
        end

        def load_puma
          require "puma"
          raise Failure, "the agent needs Puma #{PUMA} or later, not #{Puma::Const::VERSION}; run gem install puma" if Puma::Const::VERSION.to_i < PUMA
        rescue LoadError => e
          raise unless e.path == "puma"

          raise Failure, "the agent needs the gem puma; run gem install puma"
        end

        def serve(address, door, app)
          Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
          server = Puma::Server.new(app, nil, {**SERVER, log_writer: Puma::LogWriter.null, lowlevel_error_handler: app.method(:unreadable)})
          url = address.listen(server)
          signals = Queue.new
          %w[TERM USR1].each { |name| trap(name) { signals << name } }
          server.run
          yield
          $stdout.sync = true
          puts("The agent listens on #{url}.")
          loop do
            base = options[:name] ? "https://#{options[:name]}" : url
            puts("Open in a browser, once and within 10 minutes: #{base}#{door.invite}") if options[:token_file] && base.start_with?("http")
            break if signals.pop == "TERM"
          end
        ensure
          server&.halt(true) if url
          File.unlink(address.path) if url && address.path && File.exist?(address.path)
        end
      end
    end
  end
end
