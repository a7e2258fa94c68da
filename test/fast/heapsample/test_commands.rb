# frozen_string_literal: true

require "tool"
require "held_build"
require "two_profiles"

# The two, and a third later.
folder do |dir|
  a, b, c = %w[a b c].map { |name| File.join(dir, "#{name}.pb.gz") }
  write(a, PprofWriter.gzip(EARLIER.raw))
  write(b, PprofWriter.gzip(LATER.raw))
  write(c, PprofWriter.gzip(LATER.raw.merge(meta: LATER.meta.merge("taken_ns" => Build::STARTED + 30 * Build::MINUTE))))

  RUBIES.each do |ruby|
    with = "#{ruby == OURS ? "our" : "Debian's"} Ruby"
    options = {ruby: ruby}

    test "#{with}: reports are the library's" do
      profile = HeapSample::Profile.load(b)
      layout = {width: 120, root: Dir.pwd}
      equal(profile.top(**layout).to_s, printed("top", b, **options))
      equal(profile.top(value: :holds_free, width: 100, root: Dir.pwd).to_s, printed("top", "--free", "--width", "100", b, **options))
      equal(profile.top(value: :unshared, width: 100, root: Dir.pwd).to_s, printed("top", "--unshared", "--width", "100", b, **options))
      equal(profile.top(by: :class, value: :alloc_objects, top: 2, width: 80, root: Dir.pwd).to_s,
            printed("top", "--by", "class", "--value=alloc_objects", "--top", "2", "--width", "80", b, **options))
      equal(profile.report(by: :method, **layout).to_s, printed("report", "--by", "method", b, **options))
      equal(HeapSample::Tree.new(profile, direction: :callers, **layout).to_s, printed("tree", "--callers", b, **options))
      held = write(File.join(dir, "held.pb"), HeapSample::Formats.encode(held_build.profile, "pb"))
      equal(HeapSample::Profile.load(held).why(full: true, by: :line, width: 80, root: Dir.pwd).to_s, printed("why", held, "--full", "--by", "line", "--width", "80", **options))
      File.unlink(held)
      equal(profile.churn(**layout).to_s, printed("churn", b, **options))
      equal(profile.generations(**layout).to_s, printed("generations", b, **options))
      equal((profile - HeapSample::Profile.load(a)).report(**layout).to_s, printed("diff", a, b, **options))
    end

    test "#{with}: three profiles, series, info" do
      assert(printed("diff", a, b, c, **options).start_with?("Retained"))
      assert(printed("leaks", dir, **options).include?("Too few profiles"))
      assert(printed("shape", a, b, c, **options).start_with?("Shape:"))
      text = printed("info", a, b, **options)
      assert(text.include?("a.pb.gz") && text.include?("b.pb.gz") && text.match?(/^  drops +none$/), text)
    end

    test "#{with}: --json on every report is JSON with the same figures" do
      {"top" => [b], "report" => [b], "tree" => [b], "churn" => [b], "generations" => [b], "diff" => [a, b], "leaks" => [dir],
       "shape" => [dir], "info" => [b], "line" => ["leak.rb:9", dir]}.each do |command, files|
        JSON.parse(printed(command, "--json", *files, **options))
      end
      row = JSON.parse(printed("top", "--json", "--class", "Leaked", b, **options)).fetch("rows").fetch(0)
      estimate = HeapSample::Profile.load(b).filter(class: "Leaked").top.first.estimate
      close(estimate.space, row["estimate"] ? row["estimate"]["bytes"] : row["bytes"], 1e-9)
    end

    test "#{with}: one line over time; the nearest where it is not there" do
      equal(HeapSample::Series.load(dir).line("leak.rb:9", width: 80, root: Dir.pwd).to_s, printed("line", "leak.rb:9", dir, "--width", "80", **options))
      fails(1, /no memory came from leak\.rb:8; the nearest lines are app\/leak\.rb:9/, "line", "leak.rb:8", dir, **options)
      fails(1, /no memory came from laek\.rb:9; .*did you mean \S*leak\.rb:9\?/, "line", "laek.rb:9", dir, **options)
      fails(2, /which line, and which profiles\?/, "line", "leak.rb:9", **options)
    end

    test "#{with}: why takes the last profile of a folder that has a walk, filters it, and takes an earlier one away" do
      held = File.join(dir, "early")
      FileUtils.mkdir_p(held)
      write(File.join(held, "a.pb.gz"), HeapSample::Formats.encode(held_build.profile, "pb.gz"))
      FileUtils.cp(b, File.join(held, "b.pb.gz"))
      result = heapsample("why", held, "--class", "Ticket", "--root", "/srv/app", **options)
      equal(0, result.status)
      assert(result.err.include?("a.pb.gz: the last of 2 profiles") && result.out.include?("Ticket::ALL → 5,221 Ticket"), result.err + result.out)
      path = File.join(held, "a.pb.gz")
      assert(JSON.parse(printed("why", path, "--json", **options))["nodes"].any? { |node| node["steps"].any? { |step| step["edges"][0]["name"] == "Ticket::ALL" } })
      assert(printed("why", path, "--format", "folded", **options).include?("(constants);Ticket::ALL;Ticket "))
      assert(printed("why", path, "--format", "markdown", **options).include?("  - 1.2 MiB ±0.1 MiB, 15.5%: `Ticket::ALL`"))
      assert(printed("why", path, "--grown-since", path, **options).include?("nothing sampled"))
      assert(printed("why", path, "--stuck", **options).end_with?("No thread waits for what nobody else has.\n"))
      equal({"stuck" => []}, JSON.parse(printed("why", path, "--stuck", "--json", **options)))
      fails(2, /--stuck is of the whole process/, "why", path, "--stuck", "--class", "Ticket", **options)
      fails(1, /b\.pb\.gz: This profile does not tell who keeps what\. Ask the process while it runs \(heapsample why PID\), take/, "why", b, **options)
      fails(1, /no such class/, "why", path, "--class", "Tikcet", **options)
      FileUtils.rm_r(held)
    end

    test "#{with}: --stacks shows how each row came" do
      {"top" => [b], "report" => [b], "churn" => [b], "generations" => [b], "diff" => [a, b]}.each do |command, files|
        assert(printed(command, *files, "--stacks", **options).match?(/^Most of 1 came by:\n  /), command)
        assert(printed(command, *files, "--stacks", "--json", **options).include?('"stack": ['), command) unless command == "generations"
        assert(!printed(command, *files, **options).include?("came by"), command)
      end
      fails(2, /invalid option: --stacks/, "shape", dir, "--stacks", **options)
    end

    test "#{with}: filters are the library's" do
      profile = HeapSample::Profile.load(b)
      {["--class", "Leak*"] => {class: "Leak*"}, ["--class", "/eak/"] => {class: /eak/}, ["--path", "leak.rb:9"] => {path: "leak.rb:9"},
       ["--type", "string,T_HASH"] => {type: %w[string T_HASH]}, ["--gem", "model"] => {gem: "model"}, ["--stack", "Leak#keep"] => {stack: "Leak#keep"},
       ["--age", "..60"] => {age: 0..60}, ["--age", "50..", "--class", "Leaked"] => {age: 50.., class: "Leaked"}}.each do |arguments, filter|
        equal(profile.filter(**filter).top(width: 120, root: Dir.pwd).to_s.sub(/age 0\.\.60/, "age 0..60"), printed("top", b, *arguments, **options))
      end
    end

    test "#{with}: a page of a profile, of two and of a series, filtered or not; without the view, a line" do
      view = File.join(dir, "view")
      FileUtils.mkdir_p(File.join(view, File.dirname(TEMPLATE)))
      FileUtils.cp(BUILT, File.join(view, TEMPLATE))
      page = lambda do |name, *arguments|
        File.join(dir, "#{name}.html").tap do |path|
          result = heapsample(*arguments, "-o", path, **options, env: {"RUBYLIB" => view})
          flunk(result.err) unless result.status.zero?
        end
      end
      equal(File.binread(page["converted", "convert", b]), File.binread(page["one", "flame", b]))
      sizes = [page["two", "flame", a, b], page["series", "flame", dir], page["part", "flame", dir, "--class", "Leaked"]].map { |path| File.size(path) }
      assert(sizes.min > File.size(BUILT) && sizes[2] < sizes[1], sizes.inspect)
      fails(1, /a series cannot be filtered by age/, "flame", dir, "--age", "3..", "-o", File.join(dir, "age.html"), **options)
      unless options[:ruby] == OURS      # which has it installed
        fails(1, /viewer\.html is not installed/, "flame", b, "-o", File.join(dir, "none.html"), **options)
        assert(!File.exist?(File.join(dir, "none.html")))
      end
      FileUtils.rm_r([view, *Dir[File.join(dir, "*.html")]])
      assert(printed("leaks", dir, "--class", "Leaked", **options).include?("A part of the profiles, filtered: class Leaked"))
    end

    test "#{with}: a profile may come through a pipe" do
      equal(printed("top", b, **options), printed("top", "-", stdin_data: File.binread(b), **options))
      fails(1, /\(standard input\): not a readable heap profile: it is an empty file/, "top", "-", stdin_data: "", **options)
    end

    test "#{with}: what is wrong is said in a line, with the file" do
      fails(1, %r{: /nowhere\.pb\.gz: no such file or folder$}, "top", "/nowhere.pb.gz", **options)
      fails(1, /a\.pb\.gz was taken before .*b\.pb\.gz: name the earlier one first/, "diff", b, a, **options)
      fails(2, /no command "topp".*did you mean top\?/, "topp", **options)
      fails(2, /which profile\?/, "top", **options)
      fails(2, /too many arguments: x/, "top", a, "x", **options)
      fails(2, /--by colour: it is one of line, /, "top", "--by", "colour", a, **options)
      fails(2, /--age x: it is 3/, "top", "--age", "x", a, **options)
      fails(2, /--top 0: it is a whole number above 0/, "top", "--top", "0", a, **options)
      fails(2, /--class/, "top", "--class", "/(/", a, **options)
      fails(2, /invalid option: --frob/, "top", "--frob", a, **options)
      bad = write(File.join(dir, "x\e[31m\n.pb.txt"), "no profile")
      fails(1, /x .*not a readable heap profile/, "top", bad, **options)
      File.unlink(bad)
    end

    test "#{with}: help on one screen for every command" do
      help = printed("help", **options)
      commands = help.scan(/^    ([a-z]+) {2,}\S/).flatten - ["heapsample"]
      equal(Dir[File.expand_path("../lib/heapsample/commands/*.rb", File.dirname(EXE))].map { |file| File.basename(file, ".rb") }.sort, commands.sort)
      commands.each do |command|
        text = printed(command, "--help", **options)
        equal(text, printed("help", command, **options))
        assert(text.start_with?("Usage: heapsample #{command} ") && text.match?(/^    heapsample #{command}/), text)
        assert(text.lines.size <= 48 && text.lines.all? { |line| line.chomp.length <= 110 }, "#{command}: #{text.lines.size} lines")
      end
      equal(2, heapsample(**options).status)
    end

    test "#{with}: a reader that leaves early is no error" do
      reader, writer = IO.pipe
      err_reader, err_writer = IO.pipe
      pid = Process.spawn(CLEAN, ruby, "--disable=gems", EXE, "convert", b, "--to", "folded", "-o", "-", out: writer, err: err_writer)
      reader.close
      [writer, err_writer].each(&:close)
      Process.wait(pid)
      equal(["", 0], [err_reader.read, $?.exitstatus])
    end
  end

  ESCAPE = /\e\[\d*m/

  test "colours only on a terminal, and never against NO_COLOR" do
    assert(!printed("top", b).match?(ESCAPE))
    assert(printed("top", "--color", "always", b).match?(ESCAPE))
    assert(on_terminal("top", b).match?(ESCAPE))
    assert(!on_terminal("top", b, env: {"NO_COLOR" => "1"}).match?(ESCAPE))
    assert(!on_terminal("top", b, env: {"TERM" => "dumb"}).match?(ESCAPE))
    assert(!on_terminal("top", "--color=never", b).match?(ESCAPE))
  end

  test "no bytes go to a terminal" do
    [%w[merge -o -], %w[convert --to pb.gz -o -], %w[convert --to pb -o -]].each do |words|
      equal("heapsample: -: .#{words.include?("pb") ? "pb" : "pb.gz"} is not for a terminal: -o FILE, or send it to a file or a program with > or |\n",
            on_terminal(*words, b))
    end
    assert(on_terminal("convert", "--to", "folded", "-o", "-", b).include?("Leak#keep"))
  end

  test "a table is as wide as the terminal, with colours or without" do
    [70, 100, 160].each do |columns|
      text = on_terminal("top", b, columns: columns).gsub(ESCAPE, "")
      equal(printed("top", "--width", columns.to_s, b), text)
      assert(text.lines.all? { |line| line.chomp.length <= columns }, text)
    end
  end
end
