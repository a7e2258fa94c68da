# frozen_string_literal: true

require "json"
require "socket"

module HeapSample
  # Asks a running process over its socket: one line goes out, one frame comes back (doc/protocol.md).
  #
  #   LiveSocket.new("/tmp/ruby-heap-1000/4711-99.sock").ask("memory")   # => {"account" => …}
  class LiveSocket
    # What is said of no answer, and the answers that refuse, as one sentence.
    class Refused < StandardError
    end

    VERSION = "heap-sample/1"
    HEADER = %r{\A#{VERSION} (?<kind>ok|error) (?<type>[a-z.]+) (?<length>\d{1,10})\n\z}
    HEADER_MOST = 128
    ANSWER_MOST = 512 << 20
    # A safe point is waited for for 5 s, and a full GC may take long.
    SECONDS = 60
    # In a value these would end it, or the line.
    NOT_IN_A_VALUE = /[^!-$&-~]/n

    # call-seq:
    #   LiveSocket.line(verb, arguments) -> String
    #
    # The line that asks, with its end.
    def self.line(verb, arguments)
      words = arguments.map { |key, value| "#{key}=#{value.to_s.b.gsub(NOT_IN_A_VALUE) { |char| format("%%%02X", char.ord) }}" }
      "#{[VERSION, verb, *words].join(" ")}\n"
    end

    # Of the socket.
    attr_reader :path

    # +name+: what errors call it.
    def initialize(path, name: path)
      @path = path
      @name = name
    end

    # The answer: a JSON object as a Hash, or the bytes of a profile. Raises Refused.
    def ask(verb, **arguments)
      UNIXSocket.open(short_path) do |socket|
        socket.timeout = SECONDS
        socket.write(self.class.line(verb, arguments))
        receive(socket)
      end
    rescue Errno::ECONNREFUSED, Errno::ENOENT
      raise Refused, "#{@name}: nobody listens there any more"
    rescue Errno::EACCES
      raise Refused, "#{@name}: it belongs to another user; ask as that user, or as root"
    rescue IO::TimeoutError
      raise Refused, "#{@name}: no answer within #{SECONDS} s"
    rescue Errno::EPIPE, Errno::ECONNRESET, EOFError
      raise Refused, "#{@name}: it has ended, or hung up, in the middle of the answer"
    end

    private

    # A path below /proc/PID/root may be longer than a socket's address can be: the folder is opened, and named by its number.
    def short_path
      return path if path.bytesize < 100

      @folder ||= Dir.open(File.dirname(path))
      "/proc/self/fd/#{@folder.fileno}/#{File.basename(path)}"
    end

    def receive(socket)
      header = socket.gets("\n", HEADER_MOST) or raise EOFError
      parts = HEADER.match(header)
      raise Refused, "#{@name}: what answers there does not speak #{VERSION}" unless parts && parts[:length].to_i <= ANSWER_MOST

      body = +""
      body = socket.read(parts[:length].to_i) || body
      raise EOFError if body.bytesize < parts[:length].to_i
      raise Refused, "#{@name}: #{body.force_encoding(Encoding::UTF_8).scrub}" if parts[:kind] == "error"

      parts[:type] == "json" ? JSON.parse(body) : body
    end
  end
end
