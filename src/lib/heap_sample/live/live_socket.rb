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

    # It has answered that it cannot now, as where it is not sampled: later it may.
    class Declined < Refused
    end

    VERSION = "heap-sample/1"
    HEADER = %r{\A#{VERSION} (?<kind>ok|error) (?<type>[a-z.]+) (?<length>\d{1,10})\n\z}
    HEADER_MOST = 128
    ANSWER_MOST = 512 << 20
    PIECE = 1 << 16
    # A safe point is waited for for 5 s, a walk takes 30 s at most, and a full GC may take long.
    SECONDS = 60
    # Whoever has not answered by then may be stopped.
    LOOK_AFTER = 2
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

    # +name+: what errors call it.  +pid+: whose it must be; what another process listens on is not asked.
    def initialize(path, name: path, pid: nil)
      @path = path
      @name = name
      @pid = pid
    end

    # The answer: a JSON object as a Hash, or the bytes of a profile. Raises Refused.
    def ask(verb, **arguments)
      UNIXSocket.open(short_path) do |socket|
        check_owner(socket)
        send_line(socket, self.class.line(verb, arguments))
        receive(socket)
      end
    rescue Errno::ECONNREFUSED, Errno::ENOENT
      refuse("nobody listens there any more")
    rescue Errno::EACCES
      refuse("it belongs to another user; ask as that user, or as root")
    rescue Errno::ECONNRESET, EOFError
      refuse("it has ended, or hung up, in the middle of the answer")
    rescue Errno::ENOTSOCK, Errno::EPROTOTYPE
      refuse("this is no socket that answers in a stream")
    end

    private

    def refuse(sentence, error = Refused) = raise(error, "#{@name}: #{sentence}")

    # A path below /proc/PID/root may be longer than a socket's address can be: the folder is opened, and named by its number.
    def short_path
      return path if path.bytesize < 100

      @folder ||= Dir.open(File.dirname(path))
      "/proc/self/fd/#{@folder.fileno}/#{File.basename(path)}"
    end

    # In /tmp anybody may listen; the kernel knows who does.
    def check_owner(socket)
      listener, = socket.getsockopt(:SOCKET, :PEERCRED).unpack("iII")
      refuse("process #{listener} listens at its address, #{path}") if @pid && listener != @pid && listener != 0
    end

    # It may have answered already, and have hung up: 32 others ask.
    def send_line(socket, line)
      socket.write(line)
    rescue Errno::EPIPE
      nil
    end

    def receive(socket)
      header = read_until_newline(socket)
      parts = HEADER.match(header)
      refuse("what answers there does not speak #{VERSION}") unless parts && parts[:length].to_i <= ANSWER_MOST

      body = read_exactly(socket, parts[:length].to_i)
      refuse(body.force_encoding(Encoding::UTF_8).scrub, Declined) if parts[:kind] == "error"

      parts[:type] == "json" ? JSON.parse(body) : body
    rescue JSON::ParserError
      refuse("its answer is damaged")
    end

    def read_until_newline(socket)
      header = +""
      header << read_some(socket, 1) until header.end_with?("\n") || header.bytesize == HEADER_MOST
      header
    end

    def read_exactly(socket, length)
      body = "".b
      body << read_some(socket, [PIECE, length - body.bytesize].min) while body.bytesize < length
      body
    end

    # IO#timeout= is not there before Ruby 3.2.
    def read_some(socket, most)
      piece = socket.read_nonblock(most, exception: false)
      return piece if piece.is_a?(String)
      raise EOFError if piece.nil?

      await(socket)
      read_some(socket, most)
    end

    def await(socket)
      return if socket.wait_readable(LOOK_AFTER)

      refuse("it is stopped (SIGSTOP, or a debugger), and answers nobody: ask again when it goes on (kill -CONT #{@pid})") if stopped?
      refuse("no answer within #{SECONDS} s") unless socket.wait_readable(SECONDS - LOOK_AFTER)
    end

    # Do none of its threads run?  Of another machine's, or one that is gone, it is not known.
    def stopped?
      @pid && File.read("/proc/#{@pid}/stat")[/\) (\S)[^)]*\z/, 1]&.downcase == "t"
    rescue SystemCallError
      false
    end
  end
end
