# frozen_string_literal: true

# A running process wherever a file is: one that nobody prepared, asked, sampled, judged, and let alone again.

require "tool"
require "json"

GROWING = <<~'RUBY'
  $0 = "a program that grows"
  class Ticket; def initialize = @text = "x" * 100; end
  kept = []
  $stdout.puts("ready") || $stdout.flush
  loop { 200.times { kept << Ticket.new }; sleep 0.005 }
RUBY

# Its process id, while the block runs. The sockets are in a folder of their own.
def growing
  Dir.mktmpdir("live", "/tmp") do |dir|
    ENV["TMPDIR"] = dir
    IO.popen([{"RUBY_HEAP_SAMPLE" => nil, "XDG_RUNTIME_DIR" => nil}, RbConfig.ruby, "--disable=gems", "-e", GROWING]) do |io|
      io.gets
      yield io.pid
    ensure
      Process.kill(:KILL, io.pid)
    end
  ensure
    ENV.delete("TMPDIR")
  end
end

growing do |pid|
  text = pid.to_s

  test "ps lists it, with its title, not sampled" do
    row = printed("ps").lines.find { |line| line.include?("a program that grows") }
    assert(row&.match?(/\A\s*#{pid}\s.*\bno\s/), row.inspect)
    about = JSON.parse(printed("ps", "--json")).find { |one| one["process_id"] == pid }
    equal(nil, about["sampling"])
    equal([], Dir.glob("#{ENV["TMPDIR"]}/ruby-heap-*/*"))       # and it was not asked
  end

  test "what needs samples says how to start them" do
    fails(1, /process #{pid}: this process is not sampled: start it \(heapsample start #{pid}\)/, "top", text)
    fails(1, /start takes the same settings/, "set", text, "interval=8k")
  end

  test "start begins, at the settings that are given; malloc it cannot have" do
    said = printed("start", text, "interval=4k,every=3600,output=none")
    assert(said.include?("process #{pid}: one sample per 4096 bytes, every 3600 s a profile"), said)
    assert(said.include?("malloc is not sampled: it must be asked for when Ruby starts"), said)
    assert(printed("set", text, "interval=2k").include?("one sample per 2048 bytes"))
    fails(1, /interval=foo: must be a size/, "set", text, "interval=foo")
    fails(2, /a setting is NAME=VALUE/, "set", text, "interval")
  end

  test "reports read it as they read a file" do
    sleep 1
    top = JSON.parse(printed("top", text, "--full-gc", "--by", "class", "--json"))
    assert(top.to_s.include?("Ticket"), top.to_s[0, 500])
    assert(printed("report", text).include?("Ticket"))
    assert(printed("info", text).include?("one sample per 2 KiB"))
    folder do |dir|
      file = File.join(dir, "now.pb.gz")
      printed("convert", text, "-o", file)
      assert(printed("top", file, "--by", "class").include?("Ticket"))
      page = File.join(dir, "now.html")
      printed("flame", text, "-o", page)
      assert(File.size(page) > 100_000)
    end
  end

  test "diff shows what grows from now on" do
    grown = JSON.parse(printed("diff", text, "--seconds", "1", "--by", "class", "--json"))
    assert(grown.fetch("rows").any? { |row| row["change"] == "grown" && row.to_s.include?("Ticket") }, grown["rows"].first(3).to_s)
  end

  test "memory and watch say where it is, and what grows since one looks" do
    assert(printed("memory", text).match?(/slots in use$/))
    looks = printed("watch", text, "--json", "--every", "0.2", "--seconds", "4").lines.map { |line| JSON.parse(line) }
    assert(looks.size.between?(3, 21), looks.size.to_s)
    assert(looks.last["grew_bytes"] > 0, looks.last.to_s)
    grown = looks.flat_map { |look| look["grown"] }
    assert(grown.any? { |row| row["line"].include?("-e:2") }, grown.first(5).to_s)
  end

  test "the diagnosis of it names the line" do
    said = printed(text, "--seconds", "8", "--full-gc")
    assert(said.match?(/It leaks, (?:proved|very likely)/) && said.include?("-e:"), said)
  end

  test "nothing of that is wider than 80 columns" do
    [["ps"], ["memory", text], ["top", text], ["watch", text, "--seconds", "0.5"], ["diff", text, "--seconds", "0.3"]].each do |arguments|
      plain = on_terminal(*arguments, columns: 80).gsub(/\e\[[?\d]*[a-zA-Z]/, "")
      wide = plain.lines(chomp: true).select { |line| line.delete("\r").length > 80 }
      equal([arguments, []], [arguments, wide])
    end
  end

  test "stop lets it alone" do
    assert(printed("stop", text).include?("process #{pid}: not sampled"))
    fails(1, /not sampled/, "top", text)
  end

  test "who is no such process, or no Ruby of ours, is named" do
    fails(1, /process 999999999: there is no such process/, "top", "999999999")
    sleeper = spawn("sleep", "60")
    fails(1, /process #{sleeper}: no Ruby with the heap sampler/, "memory", sleeper.to_s)
  ensure
    Process.kill(:KILL, sleeper)
    Process.wait(sleeper)
  end
end
