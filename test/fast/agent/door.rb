# frozen_string_literal: true

# Who may ask: tokens, one-time URLs and cookies, hosts, origins, parameters, and what the agent refuses to start with.

require_relative "serving"

def refused(pattern, *arguments)
  said, status = Open3.capture2e(RbConfig.ruby, "-rbundler/setup", EXE, "agent", *arguments)
  assert(!status.success? && said.lines.size == 1 && said.match?(pattern) && !said.include?(TOKEN), "#{arguments.join(" ")}: #{said}")
end

test "an address that others reach, and a token file that others read, are refused with what to do" do
  refused(/add --token-file FILE$/, "--http", "127.0.0.1:0")
  refused(/add --token-file FILE$/, "--http", "unix:#{FOLDER}/x.sock", "--tls-in-front", "heap.example")
  refused(/add --tls-in-front NAME$/, "--http", "0.0.0.0:0", "--token-file", TOKEN_FILE)
  refused(/add --tls-in-front NAME$/, "--http", "[::]:0", "--token-file", TOKEN_FILE)
  refused(/not an address; write unix:/, "--http", "example.com:80", "--token-file", TOKEN_FILE)
  refused(/not an address; write unix:/, "--http", "127.0.0.1:65536", "--token-file", TOKEN_FILE)
  refused(/must be a share from/, "--diagnose", "150%")
  File.write("#{FOLDER}/open", TOKEN, perm: 0o644)
  File.write("#{FOLDER}/short", "secret", perm: 0o600)
  File.write("#{FOLDER}/empty", "", perm: 0o600)
  File.mkfifo("#{FOLDER}/fifo", 0o600)
  {"open" => /run chmod 600/, "short" => /too short; write one with openssl/, "empty" => /write one line/, "fifo" => /it is a FIFO, not a file/, "none" => /No such file/}.each do |name, pattern|
    refused(pattern, "--http", "127.0.0.1:0", "--token-file", "#{FOLDER}/#{name}")
  end
  Dir.mkdir("#{FOLDER}/shared") && File.chmod(0o777, "#{FOLDER}/shared")
  refused(/other users may write to this folder/, "--http", "unix:#{FOLDER}/shared/x.sock")
  File.write("#{FOLDER}/file", "kept")
  refused(/not a socket of yours/, "--http", "unix:#{FOLDER}/file")
  equal "kept", File.read("#{FOLDER}/file")
  taken = UNIXServer.new("#{FOLDER}/taken")
  refused(/already a server/, "--http", "unix:#{taken.path}")
end

test "a printed URL that is older than 10 minutes is refused, and one that was replaced" do
  door, time = HeapSample::Tool::AgentDoor.new(TOKEN, nil), 1000.0
  door.define_singleton_method(:now) { time }
  open = ->(path) { door.admit("HTTP_HOST" => "127.0.0.1", "PATH_INFO" => path) }
  path = door.invite
  time += 601
  raises(HeapSample::Tool::AgentRefusal, /too old/) { open.call(path) }
  older, newer = door.invite, door.invite
  raises(HeapSample::Tool::AgentRefusal, /was used, or is too old/) { open.call(older) }
  time += 599
  assert(open.call(newer).start_with?("heapsample="))
end

test "without Puma the message names the gem" do
  said, status = heapsample("agent")
  assert(!status.success? && said == "heapsample: the agent needs the gem puma; run gem install puma\n", said)
end

sampled("$kept = Array.new(20_000) { Object.new }; ready; sleep") do |process|
  heap = "/debug/pprof/heap?pid=#{process.pid}"

  agent do |it|
    test "the default is a Unix socket that only its user can open; it needs no token" do
      equal ["#{FOLDER}/ruby-heap-#{Process.euid}/agent.sock", 0o600, 0o700], [it.to, File.stat(it.to).mode & 0o777, File.stat(File.dirname(it.to)).mode & 0o777]
      equal [200, 200], ["#{heap}&gc=1", "#{heap}&seconds=1"].map { |path| it.get_when(path).status }
    end

    test "unknown and repeated parameters, values, methods and paths are refused, and nothing of them is repeated as HTML" do
      {"#{heap}&pid=#{process.pid}" => 400, "#{heap}&gc=1&gc=0" => 400, "#{heap}&why=1&seconds=1" => 400,
       "#{heap}&gc=2" => 400, "#{heap}&seconds=601" => 400, "#{heap}&seconds=-1" => 400, "#{heap}&x" => 400,
       "/debug/pprof/heap?pid=1_0" => 400, "/debug/pprof/heap?pid=" => 400, "/debug/pprof/heap?%70id=1" => 400, "/metrics?gc=1" => 400, "/?pid=1" => 400, "/#{process.pid}/page?gc=1" => 400,
       "/debug/pprof/delta_heap?pid=#{process.pid}&why=1" => 400, "/memory?pid=#{process.pid}&gc=1" => 400, "/debug/pprof/heap?pid=1" => 404, "/nothing/%3Cb%3E" => 404,
       "/../../etc/passwd" => 404, "/#{process.pid}/../metrics" => 404}.each do |path, status|
        answer = it.get(path)
        equal [path, status, "text/plain; charset=utf-8", 1], [path, answer.status, answer.headers["content-type"], answer.body.lines.size]
      end
      {"POST" => 405, "PUT" => 405, "DELETE" => 405, "HEAD" => 405, "OPTIONS" => 405}.each { |method, status| equal [method, status], [method, it.get(heap, method: method).status] }
      equal "GET", it.get(heap, method: "POST").headers["allow"]
      assert([400, 501].include?(it.get(heap, method: "NONSENSE").status))
    end

    test "foreign hosts and origins are refused" do
      assert([400, 403].include?(it.get("/metrics", Host: nil).status))
      [{Host: "heap.example"}, {Host: "127.0.0.1.evil.example"}, {Host: "localhost, evil.example"}, {Origin: "http://evil.example"}, {Origin: "null"},
       {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {Origin: "http://localhost.evil"}, {Origin: "http://localhost", "Sec-Fetch-Site": "cross-site"}].each do |headers|
        equal [headers, 403], [headers, it.get("/metrics", **headers).status]
      end
      [{Host: "localhost:99"}, {Host: "127.0.0.1:8080"}, {Host: "[::1]:1"}, {Origin: "http://localhost"}, {"Sec-Fetch-Site": "none"},
       {Origin: "null", "Sec-Fetch-Site": "same-origin"}].each do |headers|
        equal [headers, 200], [headers, it.get("/metrics", **headers).status]
      end
    end
  end

  tcp_agent do |it|
    login = it.invitation

    test "on TCP each request needs the token, as Bearer or as a password" do
      basic = ->(text) { "Basic #{[text].pack("m0")}" }
      {nil => 401, "Bearer #{TOKEN}" => 200, "bearer #{TOKEN}" => 200, "Bearer #{TOKEN[0..-2]}" => 401, "Bearer #{TOKEN}0" => 401, "Bearer" => 401, TOKEN => 401, "Digest #{TOKEN}" => 401,
       basic["x:#{TOKEN}"] => 200, basic[":#{TOKEN}"] => 200, basic["#{TOKEN}:"] => 401, "Basic \xff\xfe" => 401}.each do |header, status|
        equal [header, status], [header, it.get("/metrics", Authorization: header).status]
      end
      %W[/ #{heap} /memory /nothing /#{process.pid}/].each { |path| equal [path, 401], [path, it.get(path).status] }
      equal "Bearer realm=\"heapsample agent\"", it.get("/").headers["www-authenticate"]
      equal [200, 200], ["#{heap}&gc=1", "#{heap}&seconds=1"].map { |path| it.get_when(path, **BEARER).status }
    end

    test "the printed URL works once, and sets a cookie that a browser may use for pages" do
      equal 405, it.get(login, method: "HEAD").status
      equal [403, 403], [it.get(login, Host: "evil.example"), it.get(login[0..-2])].map(&:status)
      answer = it.get(login)
      cookie = answer.headers["set-cookie"]
      equal [303, "/", "no-referrer", "; Path=/; HttpOnly; SameSite=Strict"], [answer.status, *answer.headers.values_at("location", "referrer-policy"), cookie[/;.*/]]
      equal 403, it.get(login).status
      cookie = cookie[/\A[^;]+/]
      equal [200, 200, 200], %W[/ /#{process.pid}/report #{heap}].map { |path| it.get(path, Cookie: cookie).status }
      equal [403, 403, 403], %w[gc=1 why=1 seconds=1].map { |forced| it.get("#{heap}&#{forced}", Cookie: cookie).status }
      equal [401, 401, 403], [it.get("/", Cookie: cookie[0..-2]), it.get("/", Cookie: "#{cookie}; #{cookie}x"), it.get("/", Cookie: cookie, Origin: "http://evil.example")].map(&:status)
      equal 303, it.get("/#{process.pid}/growth", method: "POST", Cookie: cookie, Origin: "null", "Sec-Fetch-Site": "same-origin").status
      equal 403, it.get("/#{process.pid}/growth", method: "POST", Cookie: cookie, "Sec-Fetch-Site": "cross-site").status
    end

    test "USR1 prints another URL, and the token is in no line" do
      Process.kill(:USR1, it.process.pid)
      equal 303, it.get(it.invitation).status
      assert(it.printed.none? { |line| line.include?(TOKEN) } && it.printed.size == 3)
      assert(!File.read("/proc/#{it.process.pid}/cmdline").include?(TOKEN))
    end

    test "what Puma cannot read is refused, with none of it in the answer" do
      ["GET / HTTP/9\r\n\r\n", "\0\1\2\r\n\r\n", "GET /#{"x" * 20_000} HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n",
       "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: #{TOKEN}\r\nX: #{"y" * 100_000}\r\n\r\n"].each do |text|
        answer = ask(it.to, text) rescue next
        assert([0, 400, 401, 403, 405, 413, 414, 431, 501, 505].include?(answer.status) && !answer.body.to_s.include?(TOKEN) && !answer.body.to_s.include?("/gems/"), "#{text[0, 40]}: #{answer}")
      end
      equal 200, it.get("/metrics", **BEARER).status
    end
  end

  test "behind TLS the name of the proxy is a host, and the cookie is Secure" do
    tcp_agent("--tls-in-front", "heap.example") do |it|
      line = it.next_line
      assert(line.include?(" https://heap.example/login/"), line)
      cookie = it.get(line[%r{/login/\h+$}], Host: "heap.example").headers["set-cookie"]
      assert(cookie.start_with?("__Host-heapsample=") && cookie.end_with?("; Path=/; HttpOnly; SameSite=Strict; Secure"), cookie)
      equal [200, 403, 200], [{}, {Origin: "http://heap.example"}, {Origin: "https://heap.example"}].map { |more| it.get("/", Host: "heap.example", Cookie: cookie[/\A[^;]+/], **more).status }
      equal 403, it.get("/", Host: "other.example", Cookie: cookie[/\A[^;]+/]).status
    end
  end

  test "with a token file a Unix socket needs the token, too" do
    agent("--token-file", TOKEN_FILE, "--http", "unix:#{FOLDER}/token.sock") do |it|
      equal [401, 200], [it.get("/metrics"), it.get("/metrics", **BEARER)].map(&:status)
    end
  end

  test "commands that take a URL ask the agent, with the token for this host alone" do
    tcp_agent do |it|
      it.invitation
      it.get_when("/memory?pid=#{process.pid}", **BEARER)
      url, env = "http://127.0.0.1:#{it.to}", {"HEAPSAMPLE_TOKEN_FILE" => TOKEN_FILE}
      page = "#{url}/debug/pprof/heap?pid=#{process.pid}"
      {["top", page] => "live samples|in use|bytes", ["top", "#{page}&gc=1"] => "bytes", ["ps", page] => "slots in use", ["why", page] => "walk",
       ["diagnose", "--about", page] => "one sample per 4 KiB",
       ["diagnose", "--snapshot", page] => "live samples|in use|bytes", ["tree", page] => "-e:", ["top", "--value", "churn", page] => "-e:",
       ["convert", page, "-o", "-", "--format", "folded"] => "-e:",
       ["watch", page, "--seconds", "1"] => "RSS", ["diff", page, "--seconds", "0.2"] => "Growth", [page, "--seconds", "1"] => "process"}.each do |arguments, wanted|
        said, status = heapsample(*arguments, env: env)
        assert(status.success? && said.match?(wanted) && !said.include?(TOKEN), "#{arguments.join(" ")}: #{said[0, 1000]}")
      end
      assert(heapsample("top", page).first.include?("401 Unauthorized: A token is needed"))
      File.write("#{FOLDER}/named", "heap.example #{TOKEN}\n", perm: 0o600)
      assert(heapsample("top", page, env: {"HEAPSAMPLE_TOKEN_FILE" => "#{FOLDER}/named"}).first.include?("is not for this host; write HOST TOKEN"))
      File.write("#{FOLDER}/named", "127.0.0.1 #{TOKEN}\n", perm: 0o600)
      assert(heapsample("diagnose", "--about", page, env: {"HEAPSAMPLE_TOKEN_FILE" => "#{FOLDER}/named"}).last.success?)
      assert(heapsample("top", "https://192.0.2.1/", env: env).first.include?("is not for this host"))
    end
  end
end

Tap.finish
