# frozen_string_literal: true

require "stringio"

module HeapSample
  # A profile over HTTP: from <tt>heapsample agent</tt>, from a Go program, from any server of pprof.
  #
  #   HeapSample::LiveURL.new("http://127.0.0.1:6060/debug/pprof/heap?pid=4711").profile.top.to_s
  #
  # Where a URL names no page, it is Go's: /debug/pprof/heap.  The variable HEAPSAMPLE_TOKEN_FILE names a file with the
  # token that the server wants, and with the server's host (LiveToken).
  class LiveURL
    Refused = LiveSocket::Refused
    PAGE = "/debug/pprof/heap"
    # URLs that name the server, or its index.
    INDEX = %r{\A(?:/|/debug/pprof/?)?\z}
    TOKEN_FILE = "HEAPSAMPLE_TOKEN_FILE"
    REDIRECTS = 3
    OPENS_WITHIN = 5

    # Go's pages, in the same folder as the page of the memory.
    PAGES = %r{/debug/pprof/(?:heap|allocs)?\z}
    MEMORY = "/memory"

    # The URL that +text+ names, or nil.
    def self.named(text)
      new(text) if text.match?(%r{\Ahttps?://}i)
    end

    # The URL, as it was given but for its password.
    attr_reader :name

    # Raises Refused where it is none.
    def initialize(url)
      require "rbconfig"       # net/http needs it, and a Ruby without gems has not loaded it
      require "net/http"
      @uri = URI.parse(url)
      @name = url.sub(%r{//[^/@]*@}, "//")
      raise Refused, "#{name}: the URL has no host; write http://HOST:PORT, or https://…" if @uri.host.to_s.empty?
    rescue URI::InvalidURIError
      raise Refused, "#{url}: not a valid URL; write http://HOST:PORT, or https://…"
    end

    # A profile of now; with +gc+ a full GC comes first, with +why+ it shows what retains memory, where the server can.  The
    # server decides what share of the run time these may take: +diagnose+ is not sent.
    def profile(gc: false, why: false, diagnose: nil) # rubocop:disable Lint/UnusedMethodArgument
      asked = {gc: (1 if gc), why: (1 if why)}.compact
      seconds, most = LiveAnswer.limits("profile", asked)
      Profile.load(StringIO.new(get(page(asked), seconds, most)), name: name)
    rescue FormatError => e
      raise Refused, e.message
    end

    # As LiveProcess#memory, from <tt>heapsample agent</tt>; Go's servers have no such page.
    def memory
      LiveAnswer.described(get(memory_page, *LiveAnswer.limits("memory")), LiveAnswer::MEMORY)
    rescue LiveAnswer::Damaged
      raise Refused, "#{name}: the answer is not the memory of a Ruby; use the URL of a heapsample agent"
    end

    private

    def page(asked)
      uri = @uri.dup
      uri.path = PAGE if INDEX.match?(uri.path)
      uri.query = [*uri.query, *asked.map { |key, value| "#{key}=#{value}" }].join("&") unless asked.empty?
      uri
    end

    # In the same folder as the page of the profile, of the same process.
    def memory_page
      uri = @uri.dup
      uri.path = INDEX.match?(uri.path) ? MEMORY : uri.path.sub(PAGES, MEMORY)
      uri.query = uri.query&.slice(/(?<![^&])pid=\d+/)
      uri
    end

    # The whole answer has so many +seconds+, and +most+ bytes.
    def get(uri, seconds, most, redirects: REDIRECTS)
      options = {use_ssl: uri.scheme == "https", open_timeout: OPENS_WITHIN, read_timeout: seconds, max_retries: 0}
      asking = request(uri)
      answer, body = Timeout.timeout(seconds + OPENS_WITHIN, nil, "no complete answer within #{seconds} s; try again") do
        ::Net::HTTP.start(uri.hostname, uri.port, **options) { |http| receive(http, asking, most) }
      end
      return get(redirected(uri, answer, redirects), seconds, most, redirects: redirects - 1) if answer.is_a?(::Net::HTTPRedirection)
      raise LiveSocket::Declined, "#{name}: #{answer.code} #{answer.message}#{reason(body)}" unless answer.is_a?(::Net::HTTPOK)

      body
    rescue SystemCallError, SocketError, IOError, Timeout::Error, ::Net::ProtocolError, ::Net::HTTPBadResponse, ::Net::HTTPHeaderSyntaxError, *ssl_errors => e
      raise Refused, "#{name}: #{e.message[/\A[^\n]*/]}"
    end

    # OpenSSL is loaded where a URL is https.
    def ssl_errors = @uri.scheme == "https" ? [OpenSSL::SSL::SSLError] : []

    def request(uri)
      request = ::Net::HTTP::Get.new(uri)
      request["Accept-Encoding"] = "identity"
      request.basic_auth(*[uri.user, uri.password].compact.map { |part| URI.decode_www_form_component(part) }) if uri.user && uri.password
      authorize(request, uri) if token && uri.host == @uri.host && uri.port == @uri.port
      request
    end

    # Without TLS the token stays on this machine.
    def authorize(request, uri)
      raise Refused, "#{name}: the token of #{TOKEN_FILE} is not sent without encryption; use https, or a tunnel to 127.0.0.1" unless uri.scheme == "https" || LiveToken::LOOPBACK.match?(uri.hostname)
      raise Refused, "#{name}: the token of #{TOKEN_FILE} is not for this host; write HOST TOKEN in the file" unless token.for?(uri.hostname)

      request["Authorization"] = "Bearer #{token.token}"
    end

    def token
      path = ENV.fetch(TOKEN_FILE, "")
      LiveToken.read(path) unless path.empty?
    rescue SystemCallError => e
      raise Refused, "#{TOKEN_FILE}: #{e.message}"
    end

    def receive(http, request, most)
      body = "".b
      answer = http.request(request) do |coming|
        coming.read_body do |piece|
          raise Refused, "#{name}: its answer is larger than #{most >> 20} MiB" if body.bytesize + piece.bytesize > most

          body << piece
        end
      end
      [answer, body]
    end

    def redirected(uri, answer, redirects)
      raise Refused, "#{name}: it redirects more than #{REDIRECTS} times" if redirects.zero?

      to = URI.join(uri, answer["Location"].to_s)
      raise Refused, "#{name}: it redirects to #{to.scheme}, which is not followed" unless to.is_a?(URI::HTTP) && !(uri.scheme == "https" && to.scheme == "http")

      to
    rescue URI::Error
      raise Refused, "#{name}: it redirects to an invalid URL"
    end

    # The first line of its answer, where that is a text.
    def reason(body)
      line = body[0, 300].force_encoding(Encoding::UTF_8).scrub("?")[/\A[^<\n]+/].to_s.strip
      line.empty? ? "" : ": #{line}"
    end
  end
end
