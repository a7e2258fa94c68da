# frozen_string_literal: true

# Access to the agent: tokens, one-time URLs and cookies, hosts, origins, parameters, and what the agent refuses to start with.

require_relative "serving"

class DoorTest < AgentTest
  shared(:process) { |share| sampled(SLEEPS) { |process| share.call(process) } }
  shared(:server) { |share| agent { |server| share.call(server) } }
  shared(:tcp) { |share| tcp_agent { |server| server.invitation && share.call(server) } }

  def heap = "/debug/pprof/heap?pid=#{process.pid}"

  # The one-time path that signal USR1 prints.
  def login
    Process.kill(:USR1, tcp.process.pid)
    tcp.invitation
  end

  def assert_no_start(pattern, *arguments)
    said, status = Open3.capture2e(RbConfig.ruby, "-rbundler/setup", EXE, "agent", *arguments)
    assert(!status.success? && said.lines.size == 1 && said.match?(pattern) && !said.include?(TOKEN), "#{arguments.join(" ")}: #{said}")
  end

  test "an address that others reach is refused with what to do" do
    assert_no_start(/add --token-file FILE$/, "--http", "127.0.0.1:0")
    assert_no_start(/add --token-file FILE$/, "--http", "unix:#{FOLDER}/x.sock", "--tls-in-front", "heap.example")
    assert_no_start(/add --tls-in-front NAME$/, "--http", "0.0.0.0:0", "--token-file", TOKEN_FILE)
    assert_no_start(/add --tls-in-front NAME$/, "--http", "[::]:0", "--token-file", TOKEN_FILE)
    assert_no_start(/not an address; write unix:/, "--http", "example.com:80", "--token-file", TOKEN_FILE)
    assert_no_start(/not an address; write unix:/, "--http", "127.0.0.1:65536", "--token-file", TOKEN_FILE)
    assert_no_start(/must be a share from/, "--diagnose", "150%")
  end

  test "a token file that others read, or that has no good token, is refused with what to do" do
    File.write("#{FOLDER}/open", TOKEN, perm: 0o644)
    File.write("#{FOLDER}/short", "secret", perm: 0o600)
    File.write("#{FOLDER}/empty", "", perm: 0o600)
    File.mkfifo("#{FOLDER}/fifo", 0o600)
    {"open" => /run chmod 600/, "short" => /too short; write one with openssl/, "empty" => /write one line/, "fifo" => /it is a FIFO, not a file/, "none" => /No such file/}.each do |name, pattern|
      assert_no_start(pattern, "--http", "127.0.0.1:0", "--token-file", "#{FOLDER}/#{name}")
    end
  end

  test "a path that another user may write to, or that is taken, is refused" do
    Dir.mkdir("#{FOLDER}/shared") && File.chmod(0o777, "#{FOLDER}/shared")
    assert_no_start(/other users may write to this folder/, "--http", "unix:#{FOLDER}/shared/x.sock")
    File.write("#{FOLDER}/file", "kept")
    assert_no_start(/not a socket of yours/, "--http", "unix:#{FOLDER}/file")
    assert_equal "kept", File.read("#{FOLDER}/file")
    taken = UNIXServer.new("#{FOLDER}/taken")
    assert_no_start(/already a server/, "--http", "unix:#{taken.path}")
  end

  test "without Puma the message names the gem" do
    said, status = heapsample("agent")
    assert(!status.success? && said == "heapsample: the agent needs the gem puma; run gem install puma\n", said)
  end

  test "the default is a Unix socket that only its user can open; it needs no token" do
    agent(address: nil) do |server|
      assert_equal ["#{FOLDER}/ruby-heap-#{Process.euid}/agent.sock", 0o600, 0o700], [server.to, File.stat(server.to).mode & 0o777, File.stat(File.dirname(server.to)).mode & 0o777]
      assert_equal [200, 200], ["#{heap}&gc=1", "#{heap}&seconds=1"].map { |path| server.get_when(path).status }
    end
  end

  test "unknown and repeated parameters, values, methods and paths are refused, and no part of them is repeated as HTML" do
    server.get_when(heap)
    {"#{heap}&pid=#{process.pid}" => 400, "#{heap}&gc=1&gc=0" => 400, "#{heap}&why=1&seconds=1" => 400,
     "#{heap}&gc=2" => 400, "#{heap}&seconds=601" => 400, "#{heap}&seconds=-1" => 400, "#{heap}&x" => 400,
     "/debug/pprof/heap?pid=1_0" => 400, "/debug/pprof/heap?pid=" => 400, "/debug/pprof/heap?%70id=1" => 400, "/metrics?gc=1" => 400, "/?pid=1" => 400, "/#{process.pid}/page?gc=1" => 400,
     "/debug/pprof/delta_heap?pid=#{process.pid}&why=1" => 400, "/memory?pid=#{process.pid}&gc=1" => 400, "/debug/pprof/heap?pid=1" => 404, "/nothing/%3Cb%3E" => 404,
     "/../../etc/passwd" => 404, "/#{process.pid}/../metrics" => 404}.each do |path, status|
      answer = server.get(path)
      assert_equal [path, status, "text/plain; charset=utf-8", 1], [path, answer.status, answer.headers["content-type"], answer.body.lines.size]
    end
    {"POST" => 405, "PUT" => 405, "DELETE" => 405, "HEAD" => 405, "OPTIONS" => 405}.each { |method, status| assert_equal [method, status], [method, server.get(heap, method: method).status] }
    assert_equal "GET", server.get(heap, method: "POST").headers["allow"]
    assert_includes [400, 501], server.get(heap, method: "NONSENSE").status
  end

  test "other hosts and origins are refused" do
    assert_includes [400, 403], server.get("/metrics", Host: nil).status
    [{Host: "heap.example"}, {Host: "127.0.0.1.evil.example"}, {Host: "localhost, evil.example"}, {Origin: "http://evil.example"}, {Origin: "null"},
     {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {Origin: "http://localhost.evil"}, {Origin: "http://localhost", "Sec-Fetch-Site": "cross-site"}].each do |headers|
      assert_equal [headers, 403], [headers, server.get("/metrics", **headers).status]
    end
    [{Host: "localhost:99"}, {Host: "127.0.0.1:8080"}, {Host: "[::1]:1"}, {Origin: "http://localhost"}, {"Sec-Fetch-Site": "none"},
     {Origin: "null", "Sec-Fetch-Site": "same-origin"}].each do |headers|
      assert_equal [headers, 200], [headers, server.get("/metrics", **headers).status]
    end
  end

  test "on TCP each request needs the token, as Bearer or as a password" do
    basic = ->(text) { "Basic #{[text].pack("m0")}" }
    {nil => 401, "Bearer #{TOKEN}" => 200, "bearer #{TOKEN}" => 200, "Bearer #{TOKEN[0..-2]}" => 401, "Bearer #{TOKEN}0" => 401, "Bearer" => 401, TOKEN => 401, "Digest #{TOKEN}" => 401,
     basic["x:#{TOKEN}"] => 200, basic[":#{TOKEN}"] => 200, basic["#{TOKEN}:"] => 401, "Basic \xff\xfe" => 401}.each do |header, status|
      assert_equal [header, status], [header, tcp.get("/metrics", Authorization: header).status]
    end
    %W[/ #{heap} /memory /nothing /#{process.pid}/].each { |path| assert_equal [path, 401], [path, tcp.get(path).status] }
    assert_equal "Bearer realm=\"heapsample agent\"", tcp.get("/").headers["www-authenticate"]
    assert_equal [200, 200], ["#{heap}&gc=1", "#{heap}&seconds=1"].map { |path| tcp.get_when(path, **BEARER).status }
  end

  test "the printed URL works once, and sets a cookie that a browser may use for pages" do
    tcp.get_when(heap, **BEARER)
    path = login
    assert_equal 405, tcp.get(path, method: "HEAD").status
    assert_equal [403, 403], [tcp.get(path, Host: "evil.example"), tcp.get(path[0..-2])].map(&:status)
    answer = tcp.get(path)
    cookie = answer.headers["set-cookie"]
    assert_equal [303, "/", "no-referrer", "; Path=/; HttpOnly; SameSite=Strict"], [answer.status, *answer.headers.values_at("location", "referrer-policy"), cookie[/;.*/]]
    assert_equal 403, tcp.get(path).status
    cookie = cookie[/\A[^;]+/]
    assert_equal [200, 200, 200], %W[/ /#{process.pid}/report #{heap}].map { |page| tcp.get(page, Cookie: cookie).status }
    assert_equal [403, 403, 403], %w[gc=1 why=1 seconds=1].map { |forced| tcp.get("#{heap}&#{forced}", Cookie: cookie).status }
    assert_equal [401, 401, 403], [tcp.get("/", Cookie: cookie[0..-2]), tcp.get("/", Cookie: "#{cookie}; #{cookie}x"), tcp.get("/", Cookie: cookie, Origin: "http://evil.example")].map(&:status)
    assert_equal 303, tcp.get("/#{process.pid}/growth", method: "POST", Cookie: cookie, Origin: "null", "Sec-Fetch-Site": "same-origin").status
    assert_equal 403, tcp.get("/#{process.pid}/growth", method: "POST", Cookie: cookie, "Sec-Fetch-Site": "cross-site").status
  end

  test "USR1 prints another URL, and the token is in no line" do
    first, second = login, login
    refute_equal first, second
    assert_equal 303, tcp.get(second).status
    assert(tcp.lines.none? { |line| line.include?(TOKEN) })
    refute_includes File.read("/proc/#{tcp.process.pid}/cmdline"), TOKEN
  end

  test "a printed URL that is older than 10 minutes, or that another URL replaced, is refused" do
    door, time = HeapSample::Tool::AgentDoor.new(TOKEN, nil), 1000.0
    door.define_singleton_method(:now) { time }
    open = ->(path) { door.admit("HTTP_HOST" => "127.0.0.1", "PATH_INFO" => path) }
    path = door.invite
    time += 601
    assert_error(HeapSample::Tool::AgentRefusal, /too old/) { open.call(path) }
    older, newer = door.invite, door.invite
    assert_error(HeapSample::Tool::AgentRefusal, /was used, or is too old/) { open.call(older) }
    time += 599
    assert open.call(newer).start_with?("heapsample=")
  end

  test "what Puma cannot read is refused, with none of it in the answer" do
    ["GET / HTTP/9\r\n\r\n", "\0\1\2\r\n\r\n", "GET /#{"x" * 20_000} HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: #{TOKEN}\r\nX: #{"y" * 100_000}\r\n\r\n"].each do |text|
      answer = ask(tcp.to, text) rescue next
      assert([0, 400, 401, 403, 405, 413, 414, 431, 501, 505].include?(answer.status) && !answer.body.to_s.include?(TOKEN) && !answer.body.to_s.include?("/gems/"), "#{text[0, 40]}: #{answer}")
    end
    assert_equal 200, tcp.get("/metrics", **BEARER).status
  end

  test "behind TLS the name of the proxy is a host, and the cookie is Secure" do
    tcp_agent("--tls-in-front", "heap.example") do |server|
      line = server.next_line
      assert_includes line, " https://heap.example/login/"
      cookie = server.get(line[%r{/login/\h+$}], Host: "heap.example").headers["set-cookie"]
      assert(cookie.start_with?("__Host-heapsample=") && cookie.end_with?("; Path=/; HttpOnly; SameSite=Strict; Secure"), cookie)
      assert_equal [200, 403, 200], [{}, {Origin: "http://heap.example"}, {Origin: "https://heap.example"}].map { |more| server.get("/", Host: "heap.example", Cookie: cookie[/\A[^;]+/], **more).status }
      assert_equal 403, server.get("/", Host: "other.example", Cookie: cookie[/\A[^;]+/]).status
    end
  end

  test "with a token file a Unix socket needs the token, too" do
    agent("--token-file", TOKEN_FILE) do |server|
      assert_equal [401, 200], [server.get("/metrics"), server.get("/metrics", **BEARER)].map(&:status)
    end
  end

  # The address of the profile at the agent, as a user types it.
  def page
    tcp.get_when("/memory?pid=#{process.pid}", **BEARER)
    "http://127.0.0.1:#{tcp.to}#{heap}"
  end

  test "commands that take a URL ask the agent with the token" do
    {["top", page] => "live samples|bytes", ["top", "#{page}&gc=1"] => "bytes", ["why", page] => "walk", ["tree", page] => "-e:",
     ["ps", page] => "live slots", ["diagnose", "--about", page] => "one sample per 4 KiB", ["diagnose", "--snapshot", page] => "live samples|bytes",
     ["top", "--value", "churn", page] => "-e:", ["convert", page, "-o", "-", "--format", "folded"] => "-e:",
     ["watch", page, "--seconds", "1"] => "RSS", ["diff", page, "--seconds", "0.2"] => "Growth",
     [page, "--seconds", "1"] => "process"}.each do |arguments, wanted|
      said, status = heapsample(*arguments, env: {"HEAPSAMPLE_TOKEN_FILE" => TOKEN_FILE})
      assert(status.success? && said.match?(wanted) && !said.include?(TOKEN), "#{arguments.join(" ")}: #{said[0, 1000]}")
    end
    assert_includes heapsample("top", page).first, "401 Unauthorized: A token is needed"
  end

  test "commands send the token to its host alone" do
    file = ->(line) { {"HEAPSAMPLE_TOKEN_FILE" => "#{FOLDER}/named".tap { |path| File.write(path, "#{line}\n", perm: 0o600) }} }
    assert_includes heapsample("top", page, env: file.call("heap.example #{TOKEN}")).first, "is not for this host; write HOST TOKEN"
    assert_predicate heapsample("top", page, env: file.call("127.0.0.1 #{TOKEN}")).last, :success?
    assert_includes heapsample("top", "https://192.0.2.1/", env: file.call(TOKEN)).first, "is not for this host"
  end
end
