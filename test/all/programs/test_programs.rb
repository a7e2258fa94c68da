# frozen_string_literal: true

require "heapsample"
require_relative "../../testing"
require_relative "../../gems"

class ProgramsTest < Test
  OUT = install_gems(__dir__)
  LIBRARY = RbConfig::CONFIG["rubylibdir"]
  # What rdoc and rubocop read: a part of Ruby's own library.
  SOURCES = %w[net uri optparse.rb optparse].map { |name| File.join(LIBRARY, name) }
  MORE_SOURCES = %w[reline fileutils.rb].map { |name| File.join(LIBRARY, name) }
  LARGE, SHORT = {"large" => 2000, "short" => 150}.map do |name, sections|
    "#{OUT}/#{name}".tap do |folder|
      FileUtils.mkdir_p(folder)
      system(RbConfig.ruby, "#{__dir__}/documents.rb", folder, sections.to_s, exception: true)
    end
  end
  PROGRAMS = {"asciidoctor" => ["asciidoctor", "-o", "manual.html", "#{LARGE}/manual.adoc"],
              "kramdown" => ["kramdown", "#{LARGE}/manual.md"],
              "asciidoctor, a short document" => ["asciidoctor", "-o", "manual.html", "#{SHORT}/manual.adoc"],
              "kramdown, a short document" => ["kramdown", "#{SHORT}/manual.md"],
              "rdoc" => ["rdoc", "-q", "-o", "html", *SOURCES],
              "rubocop" => ["rubocop", "--cache", "false", "-c", "#{__dir__}/rubocop.yml", "--format", "simple", *SOURCES, *MORE_SOURCES]}.freeze
  NO_YJIT = ("this Ruby has no YJIT" unless system(RbConfig.ruby, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", err: File::NULL))
  NO_GO = ("no go" unless system("go version", %i[out err] => File::NULL))

  ["asciidoctor", "kramdown", "rdoc", "rubocop", "kramdown, a short document"].each do |program|
    test "#{program}: a sampled run writes the same, and a profile that can be read" do
      _, profile = run_both([program, "plain"], [program, "sampled", "interval=1k"])
      differences, = Open3.capture2e("diff", "-r", "#{folder_of(program, "plain")}/files", "#{folder_of(program, "sampled")}/files")
      assert_empty differences.lines.first(20).map { |line| line[0, 200] }
      assert_readable HeapSample::Profile.load(profile)
    end

    test "#{program}: go tool pprof reads the profile and names every function", missing: (NO_GO unless ENV["CI"]) do
      top = assert_success("go", "tool", "pprof", "-top", "-sample_index=alloc_space", run_program(program, "sampled", "interval=1k"))
      assert_match(/^ +[0-9.]+[kMG]?B +[0-9.]+%/, top)
      assert_empty top.lines.grep(/<unknown>|<null>/)
    end
  end

  %w[asciidoctor kramdown rdoc].each do |program|
    test "#{program}: with YJIT its largest lines are the same within the error of sampling", missing: NO_YJIT do
      assert_same_estimates(*with_and_without_yjit(program, "seeded", "interval=1k,seed=1"))
    end
  end

  ["asciidoctor, a short document", "kramdown, a short document"].each do |program|
    test "#{program}: with YJIT every line allocates the same objects", missing: NO_YJIT do
      assert_same_counts(*with_and_without_yjit(program, "exact", "interval=1,max-samples=none"))
    end
  end

  private

  def folder_of(program, way) = "#{OUT}/#{program.delete(",").tr(" ", "-")}/#{way}"

  # Runs a program in a folder of its own; without settings, it is not sampled. Returns the profile's path.
  def run_program(program, way, settings = nil, *options)
    folder = folder_of(program, way)
    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p("#{folder}/files")
    env = {"RUBY_HEAP_SAMPLE" => settings && "#{settings},output=#{folder}/heap.pb.gz"}
    system(env, RbConfig.ruby, *options, "-rbundler/setup", "#{__dir__}/start.rb", *PROGRAMS.fetch(program),
           chdir: "#{folder}/files", in: File::NULL, out: "#{folder}/files/stdout", err: "#{folder}/stderr")
    status = $?.exitstatus
    keep_what_is_to_be_the_same(folder, status)
    raise "#{program}: exit status #{status.inspect}\n#{File.read("#{folder}/stderr")}" unless status&.between?(0, 1) # 1: rubocop finds offences

    "#{folder}/heap.pb.gz"
  end

  # The sampler prints what it wrote on stderr; all else is the program's. rdoc's list of files and the head of a .gz have times.
  def keep_what_is_to_be_the_same(folder, status)
    File.write("#{folder}/files/status", status.to_s)
    File.write("#{folder}/files/stderr", File.readlines("#{folder}/stderr").grep_v(/^heap-sample: wrote /).join)
    FileUtils.rm_f("#{folder}/files/html/created.rid")
    compressed = Dir["#{folder}/files/**/*.gz"]
    system("gunzip", "-f", *compressed, exception: true) if compressed.any?
  end

  # Several runs at once; their profiles.
  def run_both(*runs) = runs.map { |run| Thread.new { run_program(*run) } }.map(&:value)

  def with_and_without_yjit(program, way, settings)
    run_both([program, way, settings], [program, "#{way}-yjit", settings, "--yjit"]).map { |path| HeapSample::Profile.load(path) }
  end

  # A sample without a stack is one whose stack the profile counts as dropped.
  def assert_readable(profile)
    refute_empty profile.rows
    refute_empty profile.report.to_s
    without = profile.rows.select { |row| row.stack.empty? || row.stack.first.label == "(no stack)" }
    assert_operator without.sum { |row| row.alloc.samples }, :<=, profile.meta["drops"]["stacks"]
  end

  TOP_LINES = 40
  # With two independent samples of the same program the difference of a line's estimates is a normal
  # one. Beyond 6 deviations: 2e-9 a line, so once in two million runs for the 80 lines at most of three programs.
  DEVIATIONS = 6

  def assert_same_estimates(one, other)
    # Not malloc's memory, much of which is YJIT's or what a YJIT does without. Not live memory: it depends on when the last
    # mark was, which two runs do not share.
    groups = [one, other].map { |profile| profile.groups(:line, kind: :slots).to_h { |group| [group.key, group.alloc] } }
    largest = [one, other].flat_map { |profile| profile.groups(:line, kind: :slots).largest(:alloc, TOP_LINES).map(&:key) }.uniq
    # How much is evicted depends on when the marks were, too.
    largest.reject { |key| key.to_s == "(evicted)" }.each do |key|
      a, b = groups.map { |estimates| estimates[key] || HeapSample::Estimate.new }
      # A line that one side did not see at all could still have had a few samples.
      deviation = Math.sqrt(a.variance + b.variance + one.meta["settings"]["interval"]**2)
      assert_in_delta a.space, b.space, DEVIATIONS * deviation, key.to_s
    end
    note "#{largest.size} lines agree"
  end

  # YJIT itself allocates more in places ("#{1}" makes a String that the interpreter has ready) and less
  # in others (splats), and a program does not do the same twice: whether it finds a symbol or a
  # deduplicated string or makes it anew depends on when GC last ran. Two runs without YJIT differ in 2 of
  # 7,600 rows on a quiet machine, one with it and one without in 3 or 4 there and 8 on a busy one. A line
  # with a wrong figure would not be one row but all that is allocated after a call: 1 in 400 rows,
  # 1 in 200 objects.
  def assert_same_counts(one, other)
    one, other = counts(one), counts(other)
    keys = one.keys | other.keys
    different = keys.reject { |key| one[key] == other[key] }
    objects = different.sum { |key| (one[key] - other[key]).abs }
    note "#{keys.size} rows, #{one.values.sum} objects; #{different.size} rows differ, by #{objects} objects"
    shown = different.first(20).map { |key| "#{one[key]} #{other[key]} #{key.inspect}" }.join("\n")
    assert_operator different.size * 400, :<=, keys.size, shown
    assert_operator objects * 200, :<=, one.values.sum, shown
  end

  # Of every line and class the number of objects allocated. imemos are left out: call caches and
  # method entries depend on who calls first, and YJIT fills other ones.
  def counts(profile)
    profile.rows.each_with_object(Hash.new(0)) do |row, counts|
      next if row.malloc? || row.type == "T_IMEMO"

      assert_predicate row.alloc.variance, :zero?, "a weight at interval 1: #{row.inspect}"
      site = profile.stacks.site(row.columns[HeapSample::Columns::STACK])
      frame = site && profile.stacks.frame(site)
      counts[[frame&.full_path, frame&.lineno, frame&.qualified_label, row.class_name]] += row.alloc.objects.round
    end
  end
end
