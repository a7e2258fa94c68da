# frozen_string_literal: true

module HeapSample
  module Tool
    # Where the agent listens: unix:PATH or HOST:PORT.
    class AgentAddress
      TCP = /\A(?<host>[\d.]+|localhost|\[[\h:.]+\]):(?<port>\d{1,5})\z/

      # In the folder that control sockets of processes are in.
      def self.default
        folder = ENV.values_at("XDG_RUNTIME_DIR", "TMPDIR").find { |path| path.to_s.start_with?("/") && File.directory?(path) } || "/tmp"
        "unix:#{folder}/ruby-heap-#{Process.euid}/agent.sock"
      end

      attr_reader :path

      # Raises Failure, and says what would do.
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
