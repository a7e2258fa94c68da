# frozen_string_literal: true

# A URL wherever a file is: what serves a profile over HTTP, and what serves something else.

require "socket"
require_relative "../../testing"
require_relative "command_helper"

class UrlTest < Test
  include CommandHelper

  # A server that gives each path an answer; the block gets its URL, and the requests that came.
  def serving(answers)
    server = TCPServer.new("127.0.0.1", 0)
    asked = []
    thread = Thread.new do
      while (guest = server.accept)
        request = +""
        request << guest.gets.to_s until request.end_with?("\r\n\r\n") || guest.eof?
        asked << request
        guest.write(answers.fetch(request[%r{\A\S+ (/[^? ]*)}, 1]) { "HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\nno such\n" })
        guest.close
      end
    rescue IOError, SystemCallError
      nil
    end
    yield "http://127.0.0.1:#{server.addr[1]}", asked
  ensure
    server.close
    thread.join
  end

  def ok(body, type: "application/octet-stream") = "HTTP/1.1 200 OK\r\nContent-Type: #{type}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}"

  def file = write(File.join(dir, "heap.pb.gz"), profile)
  def profile = @profile ||= PprofEncoder.gzip(sample_build.raw)

  test "a URL of a server, of its index, or of a page is read as a file is" do
    plain = printed("top", file, "--by", "class")
    serving("/debug/pprof/heap" => ok(profile), "/elsewhere/heap" => ok(profile)) do |url, asked|
      ["", "/", "/debug/pprof/", "/debug/pprof/heap", "/elsewhere/heap?pid=7"].each do |page|
        assert_equal(plain, printed("top", "#{url}#{page}", "--by", "class"))
      end
      assert_equal("GET /debug/pprof/heap HTTP/1.1", asked.first.lines.first.chomp)
      assert_equal("GET /elsewhere/heap?pid=7 HTTP/1.1", asked.last.lines.first.chomp)
      printed("top", "#{url}/elsewhere/heap?pid=7&gc=1", "--diagnose", "50%")
      assert_equal("GET /elsewhere/heap?pid=7&gc=1 HTTP/1.1", asked.last.lines.first.chomp)
      copy = File.join(dir, "copy.pb.gz")
      printed("convert", url, "-o", copy)
      assert_equal(plain, printed("top", copy, "--by", "class"))
    end
  end

  test "the token goes to the server that was named, and to no other" do
    token = write(File.join(dir, "token"), "secret\n")
    serving("/debug/pprof/heap" => ok(profile)) do |other, asked_there|
      serving("/debug/pprof/heap" => "HTTP/1.1 302 Found\r\nLocation: #{other}/debug/pprof/heap\r\nContent-Length: 0\r\n\r\n") do |url, asked|
        printed("top", url, env: {"HEAPSAMPLE_TOKEN_FILE" => token})
        assert(asked.first.include?("Authorization: Bearer secret\r\n"), asked.first)
        refute(asked_there.first.include?("Authorization"), asked_there.first)
      end
    end
    fails(1, /the token of HEAPSAMPLE_TOKEN_FILE is not sent without encryption; use https/, "top", "http://192.0.2.1:1", env: {"HEAPSAMPLE_TOKEN_FILE" => token})
    fails(1, /HEAPSAMPLE_TOKEN_FILE: No such file/, "top", "http://127.0.0.1:1", env: {"HEAPSAMPLE_TOKEN_FILE" => "#{dir}/none"})
  end

  test "what goes wrong is one sentence, with the URL" do
    answers = {"/text" => ok("hello\n", type: "text/plain"), "/short" => ok(profile)[0...-100], "/empty" => "", "/noise" => "\0\1\2\r\n\r\n",
               "/loop" => "HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n",
               "/file" => "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
               "/closed" => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 22\r\n\r\nwhere is your token?\r\n"}
    serving(answers) do |url, _|
      {"/text" => /no heap profile|not a|neither/i, "/short" => /#{url}/, "/empty" => /end of file/, "/noise" => /#{url}/, "/none" => %r{#{url}/none: 404 Not Found: no such$},
       "/loop" => /redirects more than 3 times/, "/file" => /redirects to file/, "/closed" => /401 Unauthorized: where is your token\?$/}.each do |page, pattern|
        fails(1, pattern, "top", "#{url}#{page}")
      end
      fails(1, %r{#{url}: 404 Not Found: no such$}, "ps", url)
      serving("/debug/pprof/heap" => ok(profile)) do |good, _|
        result = heapsample("#{url}/text", good, "--seconds", "0.5")
        assert_equal([0, 1], [result.status, result.err.scan("#{url}/text: ").size])
      end
      fails(1, %r{/text: the answer is not the memory of a Ruby}, "ps", "#{url}/text")
      [%w[start], %w[start off], %w[start interval=1k]].each do |command, *settings|
        fails(2, /settings cannot be changed over HTTP; give the PID/, command, url, *settings)
      end
    end
    closed = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    fails(1, /http:\/\/127.0.0.1:#{closed}: .*refused/i, "top", "http://127.0.0.1:#{closed}")
    fails(1, /not a valid URL; write http/, "top", "http://[:")
    fails(1, /http:\/\/HOST:PORT/, "top", "http:///x")
  end

  test "a server that drips, or sends too much, is left" do
    server = TCPServer.new("127.0.0.1", 0)
    url = "http://127.0.0.1:#{server.addr[1]}"
    thread = Thread.new do
      loop do
        Thread.new(server.accept) do |guest|
          memory = guest.gets.include?("/memory")
          guest.write("HTTP/1.1 200 OK\r\n\r\n")
          memory ? loop { guest.write(" ") && sleep(0.3) } : loop { guest.write("x" * 1_000_000) }
        rescue SystemCallError
          guest.close
        end
      end
    rescue IOError
      nil
    end
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    fails(1, /#{url}: no complete answer within 5 s; try again/, "ps", url)
    assert(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < 15)
    fails(1, /#{url}: its answer is larger than 64 MiB/, "top", url)
  ensure
    server.close
    thread.join
  end

  test "diff looks twice, and a password is not shown" do
    serving("/debug/pprof/heap" => ok(profile)) do |url, asked|
      printed("diff", url, "--seconds", "0.1")
      assert_equal(2, asked.size)
      fails(1, %r{: http://127.0.0.1:\d+/none: 404}, "top", "#{url.sub("//", "//me:hidden@")}/none")
      assert(asked.last.match?(/Authorization: Basic bWU6aGlkZGVu/), asked.last)
    end
  end
end
