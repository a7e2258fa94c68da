# frozen_string_literal: true

# heapsample run.

require_relative "processes"

class RunTest < Test
  include CommandHelper
  include SampledWork

  test "run: a Ruby command's output, exit status and report" do
    result = heapsample("run", "-o", in_dir("run"), "interval=16k", "--", OURS, "-e", "#{WORK}\nputs 1\nexit 3")
    assert_equal(["1\n", 3], [result.out, result.status])
    assert(result.err.include?("keep") && result.err.include?("Profile: #{dir}/run/heap-"), result.err)
    assert_equal(1, Dir.children(in_dir("run")).size)
  end

  test "run: the profile at the end has no young objects, and what retains the memory, which is printed first" do
    result = heapsample("run", "-o", in_dir("why"), "interval=16k", "--", OURS, "-e", "#{WORK}\nfork { keep(1_000) }\nProcess.wait")
    assert(result.err.match?(/\$kept\b.*\n(?:.*\n)*Live memory \(/) && result.status.zero?, result.err)
    profiles = Dir[in_dir("why/*")].map { |path| HeapSample::Profile.load(path) }
    # Only the object that holds the profile is younger than the GC.
    young = profiles.flat_map { |profile| profile.rows.select { |row| row.young.samples.positive? }.map(&:class_name) }
    assert_equal([true, true, []], [*profiles.map { |profile| !profile.holders.nil? }, young - ["GC::SampleProfile"]])
    json = JSON.parse(heapsample("run", "--json", "--", OURS, "-e", WORK).err[/^\{.*^\}/m])
    assert(json.fetch("why").fetch("total").key?("samples"), json["why"].keys.inspect)
  end

  test "run: what a program does at its end is in the profile; its status and its output are its own" do
    result = heapsample("run", "-q", "-o", in_dir("end"), "interval=1k", "--", OURS, "-e", "at_exit { $kept = Array.new(9_000) { Object.new }; print 2 }; print 1; exit 5")
    assert_equal([5, "12"], [result.status, result.out])
    profile = HeapSample::Profile.load(Dir[in_dir("end/*")].first)
    assert(profile.groups(:class).any? { |group| group.key == "Object" && group.inuse.objects > 3_000 })
    assert_equal([5, "x"], heapsample("run", "-q", "-o", in_dir("stopped"), "--", OURS, "-e", "GC::SampleProfile.stop; print :x; exit 5").then { |one| [one.status, one.out] })
  end

  test "run: children count too; --json; -q says nothing" do
    script = "#{WORK}\nfork { keep(1_000) }\nProcess.wait"
    result = heapsample("run", "--json", "interval=16k", "-o", in_dir("fork"), "--", OURS, "-e", script)
    json = JSON.parse(result.err[/^\{.*^\}/m])
    assert(json.key?("top"), json.keys.inspect)
    assert_equal(2, Dir.children(in_dir("fork")).size)
    quiet = heapsample("run", "-q", "-o", in_dir("quiet"), "--", OURS, "-e", "1").err
    refute(quiet.include?("Live memory"), quiet)
  end

  test "run: settings that make no sense are not taken for a Ruby without the sampler" do
    result = heapsample("run", "interval=abc", "--", OURS, "-e", "1")
    assert_equal(1, result.status)
    assert(result.err.lines.last.match?(/: no profile was written; check interval=abc \(any error is above\), and that its Ruby has the heap sampler$/), result.err)
    assert(heapsample("run", "--", "/bin/true").err.match?(/no profile was written; check that its Ruby has the heap sampler$/))
  end

  test "run: a signal that ends the command ends the tool; one to the tool reaches the command" do
    assert_equal(128 + 15, heapsample("run", "-q", "--", OURS, "-e", "Process.kill(:TERM, $$); sleep").status)
    script = "trap(:TERM) { puts 'told'; exit 7 }; puts 'ready'; $stdout.flush; sleep"
    Open3.popen3(CLEAN, READER, "--disable=gems", EXE, "run", "-q", "--", OURS, "-e", script) do |_, out, _, waiter|
      out.gets
      Process.kill(:TERM, waiter.pid)
      assert_equal(["told\n", 7], [out.read, waiter.value.exitstatus])
    end
  end

  test "a heapsample under RUBY_HEAP_SAMPLE is not sampled itself" do
    Dir.chdir(dir) { printed("help", env: {"RUBY_HEAP_SAMPLE" => "output=#{in_dir("self.pb.gz")}"}) }
    refute(File.exist?(in_dir("self.pb.gz")))
  end

  test "run: a Ruby without the sampler is told in a line", missing: NO_DEBIAN do
    fails(1, %r{/usr/bin/ruby, a Ruby without the heap sampler}, "run", "--", DEBIAN, "-e", "1")
    fails(1, /nowhere: no such command/, "run", "--", "nowhere")
    fails(2, /the -- before the command is missing/, "run", "ruby")
    fails(2, /output= cannot be set here; name the folder with -o/, "run", "output=x", "--", "ruby")
  end
end
