# frozen_string_literal: true

require_relative "../../testing"
require_relative "command_helper"
require_relative "two_profiles"

class CommandsTest < Test
  include CommandHelper
  include TwoProfiles

  # Two profiles of one process, and a third later.
  attr_reader :a, :b, :c

  def setup
    @a, @b, @c = {"a" => EARLIER.raw, "b" => LATER.raw, "c" => LATER.raw.merge(meta: LATER.meta.merge("taken_ns" => Build::STARTED + 30 * Build::MINUTE))}
                 .map { |name, raw| write(File.join(dir, "#{name}.pb.gz"), PprofEncoder.gzip(raw)) }
  end

  test "reports are the library's" do
    profile = HeapSample::Profile.load(b)
    layout = {width: 120, root: Dir.pwd}
    assert_equal(profile.top.text(**layout).to_s, printed("top", b))
    assert_equal(profile.top(value: :holds_free).text(width: 100, root: Dir.pwd).to_s, printed("top", "--value", "holds_free", "--width", "100", b))
    assert_equal(profile.top(value: :unshared).text(width: 100, root: Dir.pwd).to_s, printed("top", "--value", "unshared", "--width", "100", b))
    assert_equal(profile.top(by: :class, value: :alloc_objects, top: 2).text(width: 80, root: Dir.pwd).to_s,
                 printed("top", "--by", "class", "--value=alloc_objects", "--top", "2", "--width", "80", b))
    assert_equal(profile.report(by: :method).text(**layout).to_s, printed("diagnose", "--by", "method", b))
    assert_equal(HeapSample::Tree.new(profile, direction: :callers).text(**layout).to_s, printed("tree", "--callers", b))
    held = write(File.join(dir, "held.pb"), HeapSample::Formats.encode(held_build.profile, "pb"))
    assert_equal(HeapSample::Profile.load(held).why(full: true, by: :line).text(width: 80, root: Dir.pwd).to_s, printed("why", held, "--full", "--by", "line", "--width", "80"))
    assert_equal(profile.churn.text(**layout).to_s, printed("top", "--value", "churn", b))
    assert_equal(profile.generations.text(**layout).to_s, printed("top", "--by", "generation", b))
    assert_equal(profile.generations(by: :class, age: 10.., top: 2).text(**layout).to_s, printed("top", "--by", "generation:class", "--age", "10..", "--top", "2", b))
    assert_equal((profile - HeapSample::Profile.load(a)).report.text(**layout).to_s, printed("diff", a, b))
  end

  test "three profiles; a series; how profiles were taken" do
    assert(printed("diff", a, b, c).start_with?("Retained"))
    assert(printed("diagnose", dir).include?("Cannot tell: "))
    assert(printed(a, b, c).start_with?("Diagnosis:"))
    text = printed("diagnose", "--about", a, b)
    assert(text.include?("a.pb.gz") && text.include?("b.pb.gz") && text.match?(/^  drops +none$/), text)
  end

  test "--json on every report is JSON with the same figures" do
    [["top", b], ["top", "--value", "churn", b], ["top", "--by", "generation", b], ["tree", b], ["diff", a, b], ["diagnose", b], ["diagnose", dir],
     ["diagnose", "--about", b], ["line", "leak.rb:9", dir]].each { |command| JSON.parse(printed(*command, "--json")) }
    row = JSON.parse(printed("top", "--json", "--class", "Leaked", b)).fetch("rows").fetch(0)
    estimate = HeapSample::Profile.load(b).filter(class: "Leaked").top.first.estimate
    assert_close(estimate.space, row["estimate"] ? row["estimate"]["bytes"] : row["bytes"], 1e-9)
  end

  test "one line over time; the nearest where it is not there" do
    assert_equal(HeapSample::Series.load(dir).line("leak.rb:9").text(width: 80, root: Dir.pwd).to_s, printed("line", "leak.rb:9", dir, "--width", "80"))
    fails(1, /no memory was allocated at leak\.rb:8; the nearest lines are app\/leak\.rb:9/, "line", "leak.rb:8", dir)
    fails(1, /no memory was allocated at laek\.rb:9; .*did you mean \S*leak\.rb:9\?/, "line", "laek.rb:9", dir)
    fails(2, /no line or profile given/, "line", "leak.rb:9")
  end

  test "why takes the last profile of a folder that has a walk, filters it, and takes an earlier one away" do
    held = File.join(dir, "early")
    FileUtils.mkdir_p(held)
    write(File.join(held, "a.pb.gz"), HeapSample::Formats.encode(held_build.profile, "pb.gz"))
    FileUtils.cp(b, File.join(held, "b.pb.gz"))
    result = heapsample("why", held, "--class", "Ticket", "--root", "/srv/app")
    assert_equal(0, result.status)
    assert(result.err.include?("a.pb.gz: profile 1 of 2 in #{held}") && result.out.include?("Ticket::ALL → 5,221 Ticket"), result.err + result.out)
    path = File.join(held, "a.pb.gz")
    assert(JSON.parse(printed("why", path, "--json"))["nodes"].any? { |node| node["steps"].any? { |step| step["edges"][0]["name"] == "Ticket::ALL" } })
    assert(printed("why", path, "--format", "folded").include?("(constants);Ticket::ALL;Ticket "))
    assert(printed("why", path, "--format", "markdown").include?("  - 1.2 MiB ±0.1 MiB, 15.5%: `Ticket::ALL`"))
    assert(printed("why", path, "--grown-since", path).include?("nothing sampled"))
    assert_equal([], JSON.parse(printed("why", path, "--json"))["stuck"])
    fails(1, /b\.pb\.gz: This profile has no heap walk, so it cannot show what retains memory\. Run heapsample why PID, call/, "why", b)
    fails(1, /no such class/, "why", path, "--class", "Tikcet")
  end

  test "--stacks shows how each row came" do
    [["top", b], ["diagnose", b], ["top", "--value", "churn", b], ["top", "--by", "generation", b], ["diff", a, b]].each do |command|
      assert(printed(*command, "--stacks").match?(/^Most of 1 was allocated by:\n  /), command)
      assert(printed(*command, "--stacks", "--json").include?('"stack": ['), command) unless command.include?("generation")
      refute(printed(*command).include?("was allocated by"), command)
    end
    fails(2, /invalid option: --stacks/, "tree", b, "--stacks")
  end

  test "what one option means another refuses" do
    {%w[--by class] => "by", %w[--top 3] => "top", %w[--class Leaked] => "class"}.each do |option, name|
      fails(2, /--#{name} is for one profile; add --snapshot, or remove it/, "diagnose", dir, *option)
      fails(2, /--#{name} is for other reports; remove --about/, "diagnose", "--about", b, *option)
    end
    fails(2, /--format is for a diagnosis; name a folder or several profiles, or remove it/, b, "--format", "markdown")
    %w[--kind --value].zip(%w[slots churn]) { |option| fails(2, /#{option[0]} cannot be combined with --by generation; remove one of them/, "top", "--by", "generation", *option, b) }
  end

  test "filters are the library's" do
    profile = HeapSample::Profile.load(b)
    {["--class", "Leak*"] => {class: "Leak*"}, ["--class", "/eak/"] => {class: /eak/}, ["--path", "leak.rb:9"] => {path: "leak.rb:9"},
     ["--type", "string,T_HASH"] => {type: %w[string T_HASH]}, ["--gem", "model"] => {gem: "model"}, ["--stack", "Leak#keep"] => {stack: "Leak#keep"},
     ["--age", "..60"] => {age: 0..60}, ["--age", "50..", "--class", "Leaked"] => {age: 50.., class: "Leaked"}}.each do |arguments, filter|
      assert_equal(profile.filter(**filter).top.text(width: 120, root: Dir.pwd).to_s.sub(/age 0\.\.60/, "age 0..60"), printed("top", b, *arguments))
    end
  end

  test "a page of a profile, of two and of a series, filtered or not; without the view, a line", missing: NO_PAGE do
    view = with_view(dir)
    page = lambda do |name, *arguments|
      File.join(dir, "#{name}.html").tap do |path|
        result = heapsample(*arguments, "-o", path, env: view)
        flunk(result.err) unless result.status.zero?
      end
    end
    assert_equal(File.binread(page["converted", "convert", b]), File.binread(page["one", "page", b]))
    sizes = [page["two", "page", a, b], page["series", "page", dir], page["part", "page", dir, "--class", "Leaked"]].map { |path| File.size(path) }
    assert(sizes.min > File.size(BUILT) && sizes[2] < sizes[1], sizes.inspect)
    fails(1, /a series cannot be filtered by age/, "page", dir, "--age", "3..", "-o", File.join(dir, "age.html"))
    unless READER == OURS      # which has it installed
      fails(1, /viewer\.html is not installed/, "page", b, "-o", File.join(dir, "none.html"))
      refute(File.exist?(File.join(dir, "none.html")))
    end
  end

  test "a profile may come through a pipe" do
    assert_equal(printed("top", b), printed("top", "-", stdin_data: File.binread(b)))
    assert_equal(printed(b), printed("-", stdin_data: File.binread(b)))
    fails(1, /\(standard input\): not a readable heap profile: it is an empty file/, "top", "-", stdin_data: "")
  end

  test "what is wrong is said in a line, with the file" do
    fails(1, %r{: /nowhere\.pb\.gz: no such file or folder$}, "top", "/nowhere.pb.gz")
    fails(1, /a\.pb\.gz was taken before .*b\.pb\.gz; name the earlier one first/, "diff", b, a)
    fails(2, /no command, file or folder "topp"; .*did you mean top\?/, "topp")
    fails(2, /no profile given/, "top")
    fails(2, /too many arguments: x/, "top", a, "x")
    fails(2, /--by colour: it must be one of line, /, "top", "--by", "colour", a)
    fails(2, /--age x: it must be a number or a range, such as 5, 3/, "top", "--age", "x", a)
    fails(2, /--top 0: it must be a whole number above 0/, "top", "--top", "0", a)
    fails(2, /--class/, "top", "--class", "/(/", a)
    fails(2, /invalid option: --frob/, "top", "--frob", a)
    bad = write(File.join(dir, "x\e[31m\n.pb.txt"), "no profile")
    fails(1, /x\\e\[31m\\n\.pb\.txt: not a readable heap profile/, "top", bad)
    File.unlink(bad)
  end

  test "help on one screen for every command" do
    help = printed("help")
    commands = help.scan(/^    ([a-z]+) {2,}\S/).flatten - ["heapsample"]
    assert_equal(Dir[File.expand_path("../lib/heapsample/tool/commands/*.rb", File.dirname(EXE))].map { |file| File.basename(file, ".rb") }.sort, commands.sort)
    commands.each do |command|
      text = printed(command, "--help")
      assert_equal(text, printed("help", command))
      assert(text.match?(/\A[A-Z].*\.\n\n(?:    \S.*\n)*    heapsample #{command}\b.*\n(?:    \S.*\n)*\nUsage: heapsample #{command} /), text)
      assert(text.lines.size <= 48 && text.lines.all? { |line| line.chomp.length <= 110 }, "#{command}: #{text.lines.size} lines")
    end
    assert_equal(2, heapsample.status)
  end

  test "a reader that leaves early is no error" do
    reader, writer = IO.pipe
    err_reader, err_writer = IO.pipe
    pid = Process.spawn(CLEAN, READER, "--disable=gems", EXE, "convert", b, "--format", "folded", "-o", "-", out: writer, err: err_writer)
    reader.close
    [writer, err_writer].each(&:close)
    Process.wait(pid)
    assert_equal(["", 0], [err_reader.read, $?.exitstatus])
  end

  ESCAPE = /\e\[\d*m/

  test "colours only on a terminal, and never against NO_COLOR" do
    refute(printed("top", b).match?(ESCAPE))
    assert(printed("top", "--color", "always", b).match?(ESCAPE))
    assert(on_terminal("top", b).match?(ESCAPE))
    refute(on_terminal("top", b, env: {"NO_COLOR" => "1"}).match?(ESCAPE))
    refute(on_terminal("top", b, env: {"TERM" => "dumb"}).match?(ESCAPE))
    refute(on_terminal("top", "--color=never", b).match?(ESCAPE))
  end

  test "no bytes go to a terminal" do
    [%w[merge -o -], %w[convert --format pb.gz -o -], %w[convert --format pb -o -]].each do |words|
      assert_equal("heapsample: -: .#{words.include?("pb") ? "pb" : "pb.gz"} cannot be shown on a terminal; add -o FILE, or use > or |\n",
                   on_terminal(*words, b))
    end
    assert(on_terminal("convert", "--format", "folded", "-o", "-", b).include?("Leak#keep"))
  end

  test "a table is as wide as the terminal, with colours or without" do
    [70, 100, 160].each do |columns|
      text = on_terminal("top", b, columns: columns).gsub(ESCAPE, "")
      assert_equal(printed("top", "--width", columns.to_s, b), text)
      assert(text.lines.all? { |line| line.chomp.length <= columns }, text)
    end
  end
end
