# frozen_string_literal: true

require "socket"

module HeapSample
  # Asks a running process over its socket: one line goes out, one frame comes back (doc/protocol.md).  Any program
  # may answer there, so the whole answer has a deadline and a size limit.
  #
  #   LiveSocket.new("/tmp/ruby-heap-1000/4711-99.sock").ask("memory")   # => {account: …}
  class LiveSocket
    # The error for no answer or a refusal, as one sentence.
    class Refused < StandardError
    end

    # It has answered that it cannot now, as where it is not sampled: later it may.
    class Declined < Refused
    end

    # No process listens at the path.
    class Deserted < Refused
    end

    VERSION = "heap-sample/1"
    HEADER = %r{\A#{VERSION} (?<kind>ok|error) (?<type>[a-z.]+) (?<length>\d{1,10})\n\z}
    HEADER_MOST = 128
    # What answers the verb wait.
    BYE = "bye"
    PIECE = 1 << 16
    SENTENCE_MOST = 1000
    # A process that has not answered by then may be stopped.
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

    # The answer: what LiveAnswer.described gives of JSON, or the bytes of a profile. Raises Refused.
    def ask(verb, **arguments) = read(verb, bytes(verb, **arguments))

    # The bytes of the answer, unchecked. Raises Refused.
    def bytes(verb, **arguments) = asking(verb, arguments) { |socket| receive(socket) }

    # call-seq:
    #   wait_for_end -> true or false
    #
    # Waits until the process ends.  true: it ended normally, and sent a message.  false: it sent none: it was killed, or called exit! or
    # exec(2), or has closed the connection.  Raises Refused where it does not answer, as when 16 clients wait already.
    def wait_for_end
      asking("wait", {}) do |socket|
        socket.wait_readable
        @until = now + @seconds
        receive(socket) == BYE
      rescue Errno::ECONNRESET, EOFError
        false
      end
    end

    private

    # The block gets a socket on which the line has been sent.
    def asking(verb, arguments)
      @seconds, @most = LiveAnswer.limits(verb, arguments)
      @until = now + @seconds
      connect(socket = Socket.new(:UNIX, :STREAM))
      check_owner(socket)
      send_line(socket, self.class.line(verb, arguments))
      yield socket
    rescue Errno::ECONNREFUSED, Errno::ENOENT
      refuse("no process listens at #{path} any more", Deserted)
    rescue Errno::EACCES
      refuse("it belongs to another user; run this as that user or as root")
    rescue Errno::ECONNRESET, EOFError
      refuse("it ended or closed the connection during the answer; try again")
    rescue Errno::ENOTSOCK, Errno::EPROTOTYPE
      refuse("this is not a stream socket")
    rescue SystemCallError => e
      refuse(e.message)
    ensure
      socket&.close
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def left = @until - now
    def refuse(sentence, error = Refused) = raise(error, "#{@name}: #{sentence}")
    def refuse_late = refuse("no complete answer within #{@seconds} s; try again")

    # EAGAIN: the server's queue of connections is full.
    def connect(socket)
      socket.connect_nonblock(Socket.sockaddr_un(short_path))
    rescue Errno::EAGAIN
      refuse_late unless left.positive?
      sleep 0.05
      retry
    end

    # A path below /proc/PID/root may be longer than a socket's address can be: the folder is opened, and named by its number.
    def short_path
      return path if path.bytesize < 100

      @folder ||= Dir.open(File.dirname(path))
      "/proc/self/fd/#{@folder.fileno}/#{File.basename(path)}"
    end

    # In /tmp any user may listen; the kernel reports which process does.
    def check_owner(socket)
      listener, = socket.getsockopt(:SOCKET, :PEERCRED).unpack("iII")
      refuse("another process (#{listener}) listens at its address, #{path}") if @pid && listener != @pid && listener != 0
    end

    # The process may have answered already, and have closed the connection: it has 32 others.
    def send_line(socket, line)
      socket.write(line)
    rescue Errno::EPIPE
      nil
    end

    def receive(socket)
      header = read_until_newline(socket)
      parts = HEADER.match(header)
      refuse("the program that answers does not use the protocol #{VERSION}") unless parts
      refuse("its answer is larger than #{@most >> 10} KiB") if parts[:length].to_i > @most

      body = read_exactly(socket, parts[:length].to_i)
      refuse(body.byteslice(0, SENTENCE_MOST).force_encoding(Encoding::UTF_8).scrub(""), Declined) if parts[:kind] == "error"

      body
    end

    def read(verb, body)
      return body if verb == "profile"

      LiveAnswer.described(body, %w[memory compact].include?(verb) ? LiveAnswer::MEMORY : LiveAnswer::ABOUT)
    rescue LiveAnswer::Damaged => e
      refuse("its answer is damaged: #{e.message}")
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
      refuse_late unless left.positive?
      piece = socket.read_nonblock(most, exception: false)
      return piece if piece.is_a?(String)
      raise EOFError if piece.nil?

      await(socket)
      read_some(socket, most)
    end

    def await(socket)
      return if socket.wait_readable([LOOK_AFTER, left].min)

      refuse("it is stopped (SIGSTOP or a debugger); try again when it runs (kill -CONT #{@pid})") if stopped?
      refuse_late unless left.positive? && socket.wait_readable(left)
    end

    # Do none of its threads run?  For a process of another machine, or one that has ended, it is not known.
    def stopped?
      @pid && File.read("/proc/#{@pid}/stat")[/\) (\S)[^)]*\z/, 1]&.downcase == "t"
    rescue SystemCallError
      false
    end
  end
end
