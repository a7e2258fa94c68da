# frozen_string_literal: true

# What the page is made from; test/fast/page looks at the page itself.

require "io/wait"
require "json"
require "tmpdir"
require "zlib"
require_relative "../../testing"
require_relative "builds"
require_relative "counted_series"

class ViewTest < Test
  include Builds
  include HeapSample

  TEMPLATE = "<title><!--title--></title><script><!--data--></script>"

  def template
    Dir.mktmpdir do |folder|
      path = File.join(folder, "viewer.html")
      File.write(path, TEMPLATE)
      yield path
    end
  end

  # The object in a page, and a lambda that gives a column.
  def read(page)
    data = Zlib.gunzip(page[/<script>(.*)<\/script>/m, 1].unpack1("m0"))
    length = data.unpack1("V")
    head = JSON.parse(data[4, length])
    column = lambda do |(format, size, at)|
      format ? data.byteslice(4 + length + at..).unpack("#{format}#{size}") : [0] * size
    end
    [head, column]
  end

  # Stacks as the page reads them: labels, root first.
  def stacks(head, column, columns)
    labels = column[head["frames"]["label"]].map { |text| head["texts"][text] }
    frames = column[columns["frames"]].map { |frame| labels[frame] }
    stack = []
    [[], *column[columns["keep"]].zip(column[columns["fresh"]]).map { |keep, fresh| stack = stack.first(keep) + frames.shift(fresh) }]
  end

  test "the page says what no major GC has examined" do
    build = Build.new("gc" => {"count" => 100, "minor" => 80, "major" => 20, "last_major_ns" => Build::STARTED, "last_major_gc" => 60}).row(["a.rb:1 A#a"], "String", inuse: 30, at_gc: 90)
    head, = template { |path| read(View.new(build.profile, template: path).to_s) }
    assert(head["about"].any? { |line| line.match?(/The last major GC was 10 min 0 s before the profile\. 15\.0 MiB \(100%\) of the live memory was allocated since/) }, head["about"].inspect)
  end

  test "a page has every row with its stack and figures" do
    profile = malloc_build.profile
    head, column = template { |path| read(View.new(profile, template: path).to_s) }
    sheet = head["profile"]
    all = stacks(head, column, sheet)
    number = 0
    rows = column[sheet["stack"]].zip(column[sheet["inuse_space"]], column[sheet["malloc"]], column[sheet["allocation_gc"]]).map do |step, *row|
      number += step
      [all[number], *row]
    end
    expected = profile.rows.map do |row|
      [row.stack.reverse.map { |frame| frame.native? ? frame.to_s : frame.label }, row.inuse.space, row.malloc? ? 1 : 0, (row.allocation_gc || -1) + 1]
    end
    assert_equal(expected.sort_by(&:inspect), rows.sort_by(&:inspect))
  end

  test "columns take the bytes that they need, and give back what was put in" do
    [[], [0, 0], [0, 255], [256], [1, 70_000], [1 << 40, 3], [1.5, 2], [(1 << 62) - 1]].each do |numbers|
      columns = ViewColumns.new
      columns.add([7])
      reference = columns.add(numbers)
      data = Zlib.gunzip(columns.pack({a: "ä"}))
      length = data.unpack1("V")
      assert_equal({"a" => "ä"}, JSON.parse(data[4, length].force_encoding("UTF-8")))
      assert_equal(0, (4 + length + reference[2]) % 8)
      back = reference[0] ? data.byteslice(4 + length + reference[2]..).unpack("#{reference[0]}#{numbers.size}") : [0] * numbers.size
      numbers.zip(back) { |one, other| assert_close(one, other) }
    end
  end

  test "equal profiles are equal pages" do
    template do |path|
      one = View.new(malloc_build.profile, template: path).to_s
      made = Time.now.to_i        # gzip's header has room for a time in seconds
      sleep(0.01) until Time.now.to_i > made
      assert(one == View.new(malloc_build.profile, template: path).to_s)
    end
  end

  test "the title is the only text of a profile in the page's own" do
    page = template { |path| View.new(Build.new.row(["x.rb:1 <b>"], "<i>", inuse: 1).profile, template: path, title: "</title><b>&\"").to_s }
    assert(page.start_with?("<title>&lt;/title&gt;&lt;b&gt;&amp;&quot;</title><script>"), page[0, 80])
    assert(page[/<script>(.*)<\/script>/, 1].match?(/\A[A-Za-z0-9+\/=]+\z/))
  end

  test "an Array of profiles and a Series give growth since three, a Growth since one" do
    profiles = Array.new(6) do |step|
      Build.new(taken_ns: Build::STARTED + step * Build::MINUTE + 1).row(["a.rb:1 A#a"], "String", at_gc: 3, inuse: 30 - step).profile
    end
    template do |path|
      [profiles, Series.new(profiles)].each do |subject|
        head, = read(View.new(subject, template: path).to_s)
        assert_equal([300.0, 180.0, 60.0], head["growths"].map { |growth| growth["seconds"] })
      end
      assert_equal(1, read(View.new(profiles[5] - profiles[0], template: path).to_s)[0]["growths"].size)
    end
  end

  test "what is no profile is an ArgumentError" do
    assert_error(ArgumentError, /no profile is given/) { View.new([]) }
    assert_error(ArgumentError, /Integer is not a profile/) { View.new(3) }
    assert_error(ArgumentError, /nil|NilClass/) { View.new([sample_build.profile, nil]) }
  end

  test "without a template it says what is missing" do
    path = $LOAD_PATH.dup
    $LOAD_PATH.reject! { |folder| File.exist?(File.join(folder, "heapsample/viewer.html")) }
    assert_error(View::Missing, /built without the HTML view/) { sample_build.profile.to_html } unless File.exist?("src/lib/heapsample/viewer.html")
  ensure
    $LOAD_PATH.replace(path)
  end

  test "a file is written whole, for its owner, or not at all" do
    Dir.mktmpdir do |folder|
      path = File.join(folder, "x.html")
      assert_equal(3, AtomicFile.write(path, "one"))
      assert_equal(["one", 0o600], [File.read(path), File.stat(path).mode & 0o777])
      File.symlink("/etc/passwd", link = File.join(folder, "link"))
      AtomicFile.write(link, "two")
      assert_equal([false, "two"], [File.symlink?(link), File.read(link)])
      assert_error(Errno::EISDIR, //) { AtomicFile.write(folder, "x") }
      assert_error(Errno::ENOENT, //) { AtomicFile.write(File.join(folder, "none/x"), "x") }
      limit = Process.getrlimit(:FSIZE)
      trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 10, limit[1])
      begin
        assert_error(Errno::EFBIG, //) { AtomicFile.write(path, "x" * 100) }
      ensure
        Process.setrlimit(:FSIZE, *limit)
      end
      assert_equal(["one", %w[link x.html]], [File.read(path), Dir.children(folder).sort])
      File.mkfifo(fifo = File.join(folder, "fifo"))
      read_end = File.open(fifo, File::RDONLY | File::NONBLOCK)
      reader = Thread.new { read_end.wait_readable && read_end.read }
      assert_equal(100_000, AtomicFile.write(fifo, "x" * 100_000))
      assert_equal(100_000, reader.value.size)
      next unless Process.euid.zero?

      File.chown(65_534, 65_534, fifo)
      assert_error(Errno::EEXIST, //) { AtomicFile.write(fifo, "x") }
    end
  end

  test "a diagnosis is in the data as its to_h has it; without one there is none" do
    profile = sample_build.profile
    process = {pids: [7], state: :confirmed, sentence: "Leak (confirmed): app/x.rb:1 retains more."}
    diagnosis = Struct.new(:data) { def to_h = data }.new({state: :confirmed, processes: [process], warnings: []})
    template do |path|
      assert_nil(read(View.new(profile, template: path).to_s)[0]["diagnosis"])
      data = read(View.new(profile, template: path, diagnosis: diagnosis).to_s)[0]
      assert_equal(JSON.parse(JSON.generate(diagnosis.to_h)), data["diagnosis"])
      assert_equal(DiagnosisText::WORDS.transform_keys(&:to_s), data["states"])
    end
  end

  test "a process of the diagnosis has the time that was judged, and the free memory that grew where it does not leak" do
    counted = Object.new.extend(CountedSeries)
    of = ->(&sizes) { Diagnosis.new([counted.series(24) { |minute| {slots: 20, **sizes[minute]} }]).to_h[:processes].first }
    assert_equal([:none, nil, ["free slots in heap pages, page headers", 46 << 20]], of.call { |minute| {free: 4 + 2 * minute} }.values_at(:state, :window, :unused))
    leak = of.call { |minute| {slots: 20 + minute, free: 4 + 3 * minute} }
    assert_equal([:likely, nil], leak.values_at(:state, :unused))
    assert_equal(leak[:seconds], leak[:window].last - leak[:window].first)
    assert_nil(of.call { |minute| {mapped: minute > 12 ? 40 : 0} }[:unused], "mapped memory is used")
  end

  test "titles name what is compared: one day once, two processes both, and what was given above all" do
    at = ->(minute, **meta) { Build.new(taken_ns: Build::STARTED + minute * Build::MINUTE, **meta).row(["a.rb:1 A#a"], "String", at_gc: 3, inuse: 5).profile }
    titles = ->(subject, **options) { template { |path| read(View.new(subject, template: path, **options).to_s)[0] } }
    head = titles[[at[1], at[2]]]
    assert_equal(["Heap profile of process 4711, 2026-01-01 00:02:00 UTC", ["Heap growth of process 4711, 2026-01-01 00:01:00 → 00:02:00 UTC"]],
                 [head["title"], head["growths"].map { |growth| growth["title"] }])
    assert_equal("process 4711 at 2026-01-01 00:01:00 UTC", head["growths"][0]["since"])
    assert_equal("Heap growth of process 4711, 2026-01-01 00:01:00 → 2026-01-02 00:01:00 UTC", titles[at[1441] - at[1]]["growths"][0]["title"])
    assert_equal("Heap growth, process 1 at 2026-01-01 00:01:00 → process 2 at 2026-01-01 00:02:00 UTC",
                 titles[at[2, process_id: 2, process_start: "b"] - at[1, process_id: 1, process_start: "a"]]["growths"][0]["title"])
    assert_equal("Mine", titles[[at[1], at[2]], title: "Mine"]["growths"][0]["title"])
  end
end
