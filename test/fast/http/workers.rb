# frozen_string_literal: true

# Workers of a real Puma cluster share an address.

require_relative "serving"

def worker(port)
  TCPSocket.open("127.0.0.1", port) { |s| s.write("GET / HTTP/1.0\r\n\r\n") && s.read[/\d+\z/]&.to_i }
rescue SystemCallError
  nil
end

def kept(profile) = profile.rows.sum { |row| row.class_name == "Kept" ? row.inuse.objects + row.young.objects : 0 }

app = free_port
to = free_port
Dir.mktmpdir("p", "/tmp") do |folder|
  env = {"PORT" => app.to_s, "TMPDIR" => folder, "XDG_RUNTIME_DIR" => nil, "RUBY_HEAP_SAMPLE" => "interval=4k,output=none,http=127.0.0.1:#{to}"}
  puma = File.join(Gem.loaded_specs.fetch("puma").bin_dir, "puma")
  master = spawn(env, RbConfig.ruby, puma, "-C", File.join(__dir__, "puma.rb"), %i[out err] => "#{OUT}/puma.log", pgroup: true)
  test "the master answers for its workers" do
    waits_for(60) { worker(app) && pids(get(to, "/metrics").body).size == 3 }
    page = get(to, "/").body
    assert(page.include?("cluster worker 0") && page.include?("cluster worker 1"), page)
  end
  test "the worker that has worked is seen to have" do
    busy = worker(app)
    assert(kept(get(to, "/debug/pprof/heap?pid=#{busy}").profile) > 10_000)
    equal 0, kept(get(to, "/debug/pprof/heap?pid=#{master}").profile)
  end
  test "a worker that is killed is replaced, in the metrics, too" do
    before = pids(get(to, "/metrics").body)
    Process.kill(:KILL, (before - [master]).first)
    waits_for(90) { pids(get(to, "/metrics").body).then { |now| now.size == 3 && now.sort != before.sort } }
  end
ensure
  Process.kill(:TERM, -master) if master
  Process.wait(master) if master
end
test("and when Puma ends, nobody has the address") { waits_for(60) { !listens?(to) } }
Tap.finish
