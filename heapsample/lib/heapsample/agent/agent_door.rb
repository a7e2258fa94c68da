# frozen_string_literal: true

require "digest"
require "securerandom"

module HeapSample
  module Tool
    # Decides who may ask the agent. On a Unix socket without a token its file mode has decided. Otherwise a request needs
    # the token, or the cookie that a one-time URL has set. A page in a browser can send requests, too: by a name that leads
    # to this machine (DNS rebinding), or from another site. So the host and the origin of each request are checked first.
    class AgentDoor
      PORT = /:\d{1,5}\z/
      # Seconds in which a one-time URL can be used, and its path.
      LIFE = 600
      PATH = "/login/"

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
          @invited && same?(env["PATH_INFO"].delete_prefix(PATH), @invited.first) && @invited.last.tap { @invited = nil } > now
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
        %w[bearer basic].include?(kind.to_s.downcase) && same?(value.to_s, @token)
      end

      def cookie_in(header)
        given = header.split(/; */).filter_map { |pair| pair.delete_prefix("#{@cookie}=") if pair.start_with?("#{@cookie}=") }
        given.size == 1 && same?(given.first, @session)
      end

      # In a time that does not depend on where the two differ.
      def same?(one, other)
        [one, other].map { |text| Digest::SHA256.digest(text).bytes }.transpose.inject(0) { |found, (a, b)| found | (a ^ b) }.zero?
      end
    end
  end
end
