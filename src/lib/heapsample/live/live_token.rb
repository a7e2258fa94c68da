# frozen_string_literal: true

module HeapSample
  # What a token file holds: <tt>TOKEN</tt>, or <tt>HOST TOKEN</tt>.  A token without a host is for this machine only.
  class LiveToken
    LOOPBACK = /\A(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)\z/i
    # Bytes of the file that are read; characters of a token that cannot be guessed, and can stand in a header.
    MOST = 4096
    WORD = /\A[!-~]{16,}\z/

    # call-seq:
    #   LiveToken.read(path, secret: false) -> token
    #
    # With +secret+, only a file of this user that no other user may read.  Raises Refused; SystemCallError if it cannot be read.
    def self.read(path, secret: false)
      ForeignFile.open(path) do |file|
        raise LiveSocket::Refused, "#{path}: the token file belongs to another user; use a file of your own" if secret && file.foreign?
        raise LiveSocket::Refused, "#{path}: other users may read the token file; run chmod 600 #{path}" if secret && file.open_to_others?

        *hosts, token = file.read(MOST).to_s.split
        raise LiveSocket::Refused, "#{path}: not a token file; write one line, TOKEN or HOST TOKEN" if token.nil? || hosts.size > 1
        raise LiveSocket::Refused, "#{path}: the token is too short; write one with openssl rand -hex 32" if secret && !WORD.match?(token)

        new(token, hosts.first)
      end
    rescue FormatError => e
      raise LiveSocket::Refused, e.message
    end

    attr_reader :token

    def initialize(token, host = nil)
      @token, @host = token, host
    end

    # May the token go to this host?
    def for?(host) = @host ? @host.casecmp?(host) : LOOPBACK.match?(host)
  end
end
