# frozen_string_literal: true

require "openssl"
require "securerandom"

module HeapSample
  module Tool
    # Decides who may ask the agent. On a Unix socket without a token its file mode has decided. Otherwise a request needs
    # the token, or the cookie that a one-time URL has set. A page in a browser can send requests, too: by a name that leads
    # to this machine (DNS rebinding), or from another site. So the host and the origin of each request are checked first.
    class AgentDoor
      PORT = /:\d{1,5}\z/
      # Seconds in which a one-time URL can be used, and its path.
      LIFE, PATH = 600, "/login/"

      # +token+ nil: a Unix socket that only its user can open. +name+: the host that a proxy with TLS serves.
      def initialize(token, name)
        @token, @name, @session = token, name, SecureRandom.hex(32)
        @cookie = name ? "__Host-heapsample" : "heapsample"
        @lock, @invited = Mutex.new, nil
      end

      # How the request came in: :socket, :token or :cookie. Raises AgentRefusal.
      def enter(env)
        check_site(env)
        return :socket unless @token
        return :token if token_in(env["HTTP_AUTHORIZATION"].to_s)
        return :cookie if cookie_in(env["HTTP_COOKIE"].to_s)

        raise AgentRefusal.new(401, "A token is needed. Send the token of the token file, or open the URL that the agent printed.")
      end

      # The path of a URL that opens the door once, in place of an earlier one.
      def invite
        code = SecureRandom.hex(32)
        @lock.synchronize { @invited = [code, now + LIFE] }
        "#{PATH}#{code}"
      end

      # The value of Set-Cookie. Raises AgentRefusal if the URL was used, or is too old.
      def admit(env)
        check_site(env)
        known = @lock.synchronize do
          @invited && OpenSSL.secure_compare(env["PATH_INFO"].delete_prefix(PATH), @invited.first) && @invited.last.tap { @invited = nil } > now
        end
        raise AgentRefusal.new(403, "This URL was used, or is too old. Send the signal USR1 to the agent: it prints another one.") unless known

        "#{@cookie}=#{@session}; Path=/; HttpOnly; SameSite=Strict#{"; Secure" if @name}"
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Browsers send Sec-Fetch-Site. With Referrer-Policy no-referrer, the Origin of our own forms is "null".
      def check_site(env)
        host, origin, site = env.values_at("HTTP_HOST", "HTTP_ORIGIN", "HTTP_SEC_FETCH_SITE")
        name = host.to_s.sub(PORT, "")
        local = LiveToken::LOOPBACK.match?(name)
        raise AgentRefusal.new(403, "The Host of the request is not allowed. Use 127.0.0.1, localhost, or the name of --tls-in-front.") unless local || (@name && name.casecmp?(@name))

        ours = origin.nil? || origin.casecmp?("#{local ? "http" : "https"}://#{host}") || (origin == "null" && site == "same-origin")
        raise AgentRefusal.new(403, "The request comes from a page of another site. Enter the address in the browser.") unless ours && [nil, "same-origin", "none"].include?(site)
      end

      # Bearer, or Basic with any user name.
      def token_in(header)
        kind, value = header.split(" ", 2)
        value = value.to_s.unpack1("m").split(":", 2).last if kind.to_s.casecmp?("basic")
        %w[bearer basic].include?(kind.to_s.downcase) && OpenSSL.secure_compare(value.to_s, @token)
      end

      def cookie_in(header)
        given = header.split(/; */).filter_map { |pair| pair.delete_prefix("#{@cookie}=") if pair.start_with?("#{@cookie}=") }
        given.size == 1 && OpenSSL.secure_compare(given.first, @session)
      end
    end

    # Where the agent listens: unix:PATH or HOST:PORT.
    class AgentAddress
      TCP = /\A(?<host>[\d.]+|localhost|\[[\h:.]+\]):(?<port>\d{1,5})\z/

      # In the folder that control sockets of processes are in.
      def self.default
        folder = ENV.values_at("XDG_RUNTIME_DIR", "TMPDIR").find { |path| path.to_s.start_with?("/") && File.directory?(path) } || "/tmp"
        "unix:#{folder}/ruby-heap-#{Process.euid}/agent.sock"
      end

      attr_reader :path

      # Raises Failure, with what to do instead.
      def initialize(text, token_file, name)
        @path = text.delete_prefix("unix:") if text.start_with?("unix:/")
        @host, @port = TCP.match(text)&.values_at(:host, :port)
        raise Failure, "--http #{text}: not an address; write unix:/PATH, or HOST:PORT with an address in figures" unless path || @port.to_i.between?(0, 65_535) && @host
        raise Failure, "over TCP, or behind a proxy, requests need a token; write one with (umask 077; openssl rand -hex 32 > FILE), and add --token-file FILE" if (@host || name) && !token_file
        return if path || name || LiveToken::LOOPBACK.match?(@host)

        raise Failure, "other machines reach #{@host}, and the agent has no TLS; use 127.0.0.1 behind a proxy with TLS, and add --tls-in-front NAME"
      end

      # Makes a Puma::Server listen; returns where.
      def listen(server)
        return "http://#{@host}:#{server.add_tcp_listener(@host, @port.to_i).local_address.ip_port}" if @host

        prepare(File.dirname(path))
        server.add_unix_listener(path, 0o177, 0o600)
        "unix:#{path}"
      rescue RuntimeError, SystemCallError, SocketError => e
        raise Failure, "cannot listen: #{e.message}; choose another address with --http"
      end

      private

      # Puma replaces a file that is there: it must be a socket of ours, in a folder where no other user makes one.
      def prepare(folder)
        Dir.mkdir(folder, 0o700) unless File.exist?(folder)
        stat = File.stat(folder)
        raise Failure, "#{folder}: other users may write to this folder; choose another path with --http" if stat.mode & 0o022 != 0 || ![0, Process.euid].include?(stat.uid)
        raise Failure, "#{path}: a file that is not a socket of yours; choose another path with --http" if File.exist?(path) && !(File.lstat(path).socket? && File.owned?(path))
      end
    end
  end
end
