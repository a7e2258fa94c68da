# frozen_string_literal: true

require "json"
require "rbconfig"                # for resolv, which net/http loads
require "net/http"
require "openssl"
require "securerandom"
require "uri"

module HeapSample
  module Tool
    # Where --to sends, and what each kind of receiver wants; read in their own code:
    #
    # pyroscope  grafana/pyroscope: api/push/v1/push.proto, pkg/distributor/distributor.go, pkg/validation/validate.go
    # otel       open-telemetry/opentelemetry-collector-contrib: receiver/pprofreceiver/internal/http_server.go, pkg/translator/pprof
    # parca      parca-dev/parca: proto/parca/profilestore/v1alpha1/profilestore.proto, pkg/server/server.go, pkg/normalizer, pkg/parcacol
    # datadog    DataDog/libdatadog: libdd-profiling/src/exporter/profile_exporter.rs; DataDog/dd-trace-rb: stack_recorder.c (types)
    class AgentReceiver
      KINDS = {"pyroscope" => "push.v1.PusherService/Push", "otel" => "v1/pprof", "parca" => "api/profiles/writeraw", "datadog" => "profiling/v1/input"}.freeze
      # Words for a receiver: where its URL is from.
      WORDS = {"pyroscope" => "PYROSCOPE_SERVER_ADDRESS", "otel" => "OTEL_EXPORTER_OTLP_ENDPOINT", "datadog" => "DD_TRACE_AGENT_URL or DD_AGENT_HOST"}.freeze
      SERVICES = {"pyroscope" => %w[PYROSCOPE_APPLICATION_NAME OTEL_SERVICE_NAME], "otel" => %w[OTEL_SERVICE_NAME], "parca" => %w[OTEL_SERVICE_NAME], "datadog" => %w[DD_SERVICE]}.freeze
      TOKENS = {"pyroscope" => "PYROSCOPE_AUTH_TOKEN", "parca" => "PARCA_BEARER_TOKEN"}.freeze
      FORM = /\A(#{KINDS.keys.join("|")})\+(https?:.+|unix:.+)\z/
      LOOPBACK = /\A(?:localhost|127(?:\.\d+){3}|\[::1\])\z/
      OTEL_NAMES = {"service" => "service.name", "host" => "host.name"}.freeze
      # The types that Datadog's profiler for Ruby has, in place of ours.
      DATADOG_TYPES = [%w[alloc-samples count], %w[alloc-size bytes], %w[heap-live-samples count], %w[heap-live-size bytes]].freeze
      # Seconds for each part of a request.
      PATIENCE = 10

      # Profiles (gzip'ed pprof) with their tags, from and to (Times), and an id which is the same at each try.
      Packed = Struct.new(:profiles, :tags, :from, :to, :id) do
        def bytes = profiles.sum(&:bytesize) + 512
      end

      attr_reader :name, :kind

      # +text+: a word, or a URL; raises UsageError.
      def initialize(text, env = ENV)
        @env = env
        text = "#{text}+#{endpoint(text)}" if WORDS.key?(text)
        @kind, url = text.match(FORM)&.captures
        example = "pyroscope+#{text[%r{\Ahttps?://[^@?#]+\z}] || "http://127.0.0.1:4040"}"
        url or raise UsageError, "--to: not a receiver; give #{WORDS.keys.join(", ")}, or a URL such as #{example} (kinds: #{KINDS.keys.join(", ")})"
        url.start_with?("unix:") ? @socket = url[%r{\Aunix:(?://)?(.*)}, 1] : @url = URI.parse(url)
        raise URI::Error if @url && @url.host.to_s.empty?

        @path = "#{"/#{@url&.path}".squeeze("/").chomp("/").delete_suffix("/#{KINDS[kind]}")}/#{KINDS[kind]}"
        @name = "#{kind}+#{@socket ? "unix:#{@socket}" : "#{@url.scheme}://#{@url.host}:#{@url.port}"}"
        read_credentials
      rescue URI::Error
        raise UsageError, "--to: the URL cannot be read, or has no host; give one such as pyroscope+http://127.0.0.1:4040"
      end

      # +from+: a Time; +tags+: a Hash. Returns Packed.
      def pack(profile, from, tags)
        tags = tags.merge("service" => SERVICES[kind].filter_map { |name| set(name) }.first || tags["service"]) if tags.key?("service")
        tags = tags.merge({"env" => set("DD_ENV")}.compact) if kind == "datadog"
        labels = kind == "otel" ? tags.transform_keys(OTEL_NAMES) : {}
        profile.limit(labels)
        profiles = case kind
                   when "parca" then [profile.to_gz(from, first: "alloc_space", columns: [0, 1]), profile.to_gz(nil, columns: [2, 3])]
                   when "datadog" then [profile.to_gz(from, first: "heap-live-size", types: DATADOG_TYPES)]
                   else [profile.to_gz(from, labels: labels)]
                   end
        Packed.new(profiles, tags, from || profile.info.taken, profile.info.taken, SecureRandom.uuid)
      end

      # Status, seconds of Retry-After, and the beginning of the body.
      def post(packed)
        request = ::Net::HTTP::Post.new(@path, @headers)
        type, request.body = body(packed)
        request.content_type = type
        http = @socket ? AgentConnection.new("localhost", 80, nil) : AgentConnection.new(@url.hostname, @url.port)
        http.unix, http.use_ssl = @socket, @url&.scheme == "https"
        http.open_timeout = http.read_timeout = http.write_timeout = http.ssl_timeout = PATIENCE
        http.max_retries = 0
        http.start { http.request(request).then { |response| [response.code.to_i, response["retry-after"], Printable.utf8(response.body.to_s)] } }
      end

      # Without what is secret.
      def redact(text) = @secrets.inject(text) { |shown, secret| shown.gsub(secret, "[secret]") }

      private

      def set(name) = @env[name].then { |value| value unless value.to_s.empty? }
      def unescape(text) = text.strip.gsub(/%(\h\h)/) { $1.hex.chr }

      def endpoint(word)
        host = set("DD_AGENT_HOST") && "http://#{set("DD_AGENT_HOST").sub(/.*:.*/, "[\\0]")}:#{set("DD_TRACE_AGENT_PORT") || 8126}"
        url = word == "datadog" ? set("DD_TRACE_AGENT_URL") || host : set(WORDS[word])
        url or raise UsageError, "--to #{word}: #{WORDS[word]} is not set; set it, or give a URL such as #{word}+http://127.0.0.1:4040"
      end

      def read_credentials
        user = @url&.userinfo&.split(":", 2)&.map { |part| unescape(part) }
        user ||= %w[USER PASSWORD].map { |part| set("PYROSCOPE_BASIC_AUTH_#{part}").to_s } if kind == "pyroscope" && set("PYROSCOPE_BASIC_AUTH_USER")
        token = set(TOKENS[kind].to_s)
        secret = user ? "Basic #{[user.join(":")].pack("m0")}" : token && "Bearer #{token}"
        others = (kind == "otel" && set("OTEL_EXPORTER_OTLP_HEADERS") || "").split(",").to_h { |pair| pair.partition("=").values_at(0, 2).map { |part| unescape(part) } }.transform_keys(&:downcase)
        @secrets = [*user&.last, token, secret&.split&.last, *others.values].compact.reject(&:empty?)
        raise UsageError, "--to #{name}: the password or token would be sent without TLS to another machine; use https" if @secrets.any? && @url&.scheme == "http" && !@url.host.match?(LOOPBACK)

        @headers = {"user-agent" => "heapsample/#{VERSION}", "accept" => "application/json", "accept-encoding" => "identity", "connection" => "close",
                    "authorization" => secret, "x-scope-orgid" => (set("PYROSCOPE_TENANT_ID") if kind == "pyroscope"), **others}.compact
      end

      # Content type and body.
      def body(packed)
        case kind
        when "otel" then ["application/octet-stream", packed.profiles.first]
        when "datadog" then multipart(packed)
        else ["application/json", JSON.generate(kind == "parca" ? {normalized: false, series: [series(packed)]} : {series: [series(packed)]})]
        end
      end

      def series(packed)
        labels = {"__name__" => "memory", **packed.tags.transform_keys("service" => "service_name")}.map { |name, value| {name: name, value: value} }
        samples = packed.profiles.map { |bytes| {rawProfile: [bytes].pack("m0")} }
        kind == "parca" ? {labels: {labels: labels}, samples: samples} : {labels: labels, samples: samples.map { |sample| {**sample, ID: packed.id} }}
      end

      def multipart(packed)
        tags = {**packed.tags, "deploy" => nil, "version" => packed.tags["deploy"], "language" => "ruby", "runtime" => "ruby"}.compact
        event = {attachments: ["profile.pprof"], tags_profiler: tags.map { |name, value| "#{name}:#{value.tr(",", "_")}" }.join(","), family: "ruby", version: "4",
                 start: packed.from.getutc.strftime("%FT%T.%NZ"), end: packed.to.getutc.strftime("%FT%T.%NZ"), endpoint_counts: nil, internal: {}, info: {}}
        parts = [["event", "event.json", "application/json", JSON.generate(event)], ["profile.pprof", "profile.pprof", "application/octet-stream", packed.profiles.first]]
        edge = "heapsample-#{packed.id}"
        form = parts.map do |field, file, type, bytes|
          "--#{edge}\r\nContent-Disposition: form-data; name=\"#{field}\"; filename=\"#{file}\"\r\nContent-Type: #{type}\r\n\r\n".b + bytes.b + "\r\n".b
        end
        ["multipart/form-data; boundary=#{edge}", "#{form.join}--#{edge}--\r\n".b]
      end
    end

    # Net::HTTP, also over a Unix socket. An answer has a limit: of its reads, which are of 16 KiB at most.
    class AgentConnection < ::Net::HTTP
      READS_MOST = 64

      # For the socket of a connection.
      module Bounded
        def rbuf_fill = (@reads = @reads.to_i + 1) > READS_MOST ? raise(::Net::HTTPBadResponse, "its answer is too long") : super
      end

      attr_writer :unix

      private

      def connect
        return super.tap { @socket.extend(Bounded) } unless @unix

        @socket = ::Net::BufferedIO.new(UNIXSocket.new(@unix), read_timeout: read_timeout, write_timeout: write_timeout).extend(Bounded)
      end
    end
  end
end
