# frozen_string_literal: true

require_relative "../../examples"
require "heapsample"

class ExamplesTest < ExampleTest
  OUT = output_folder(__dir__)

  # Runs an example; the folder of its profiles.
  def profiles(name, env = {})
    folder = FileUtils.mkdir_p("#{OUT}/#{name}").first
    example(name, {"PROFILES" => folder, **env})
    folder
  end

  test "includes: SQLite, Active Record and Ruby hold most memory by gem, and by line of the application the line with includes" do
    profile = HeapSample::Profile.load("#{profiles("includes")}/heap.pb.gz")
    # The third and the fourth are a few samples apart.
    assert_empty %w[activerecord ruby sqlite3] - profile.top(by: :gem).first(4).map { |entry| entry.key.to_s[/[a-z0-9]+/] }
    first, second = profile.top(by: :app).first(2)
    assert_equal ["greet.rb", line_of("Author.includes", "includes/greet.rb")], [File.basename(first.key.path), first.key.line]
    assert_operator first.interval.first, :>, second.value
  end

  test "churn: two lines that allocate most objects are fixed, the pages are the same, and less is allocated" do
    folder = profiles("churn", "SAMPLE" => "interval=8k")
    before, after = %w[before after].map { |name| HeapSample::Profile.load("#{folder}/#{name}.pb.gz").top(value: :alloc_space, kind: :slots) }
    found = before.first(5).select { |entry| entry.key.path.match?(%r{rdoc/comment.rb|attribute_manager.rb}) }
    assert_equal 2, found.size
    # What was allocated after the last GC counts as live, and when that was differs from run to run.
    assert(found.all? { |entry| entry.group.freed_share > 0.75 && entry.samples > 50 }, before.to_s)
    assert(after.none? { |entry| entry.key.path.end_with?("rdoc/comment.rb") }, after.to_s)
    assert_operator after.total.interval.last, :<, before.total.interval.first
  end

  test "cluster: three commands lead from ps to the constant that retains the leak" do
    said = example("cluster")
    assert_match(/ shop: worker 1$/, said.lines.grep(/ shop: worker \d$/).max_by { |line| line.split[2].to_f })
    assert_match(/^Leak \((?:confirmed|likely)\): .*\n?.*cluster\.rb:#{line_of("SEEN[order.number]", "cluster/cluster.rb")}\b/, said)
    assert_includes said, "PartnerPages::SEEN → "
  end
end
