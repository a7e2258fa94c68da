# frozen_string_literal: true

# Which memory of the master each worker does not share any more, and the lines that did that.

require_relative "cluster"
require "fileutils"

class UnsharedTest < PumaTest
  PROFILES = "#{OUT}/unshared"

  # The profiles of the master, and of a worker that has worked.
  shared(:profiles) do |share|
    FileUtils.rm_rf(PROFILES)
    FileUtils.mkdir_p(PROFILES)
    cluster("unshared", {"OUT" => PROFILES, "RUBY_HEAP_SAMPLE" => "interval=1k,output=none"}) do |port, master|
      worker = waits_for(60) { number_at(port, "/work") }
      share.call([master, worker].map { |pid| HeapSample::Profile.load("#{PROFILES}/#{pid}.pb.gz") })
    end
  end

  def worker
    profiles.last.tap { |profile| skip(profile.info.inherited_missing.to_s) unless profile.info.inherited_pages }
  end

  # Live memory, and what of it is not shared any more, by the method that made it.
  def by_method = worker.groups(:method).to_h { |group| [group.key.to_s[/\w+\z/], group] }

  test "the master inherits nothing, and nothing is missing" do
    assert_equal [nil, nil], [profiles.first.info.inherited_pages, profiles.first.info.inherited_missing]
  end

  test "a worker does not share what a request wrote to" do
    counted = by_method["counted"]
    assert_operator counted.unshared.space, :>, 0.95 * counted.slots_space
  end

  test "a worker shares what no request wrote to" do
    quiet = by_method["quiet"]
    assert_operator quiet.unshared.space, :<, 0.1 * quiet.slots_space
  end

  test "what a worker made in the master's free slots was allocated since the fork" do
    session = by_method["session"]
    assert_operator session.unshared.space, :>, 0.5 * session.slots_space
    assert_equal session.unshared.space.round, session.unshared_allocated.round
    assert_equal 0, by_method["counted"].unshared_allocated
  end

  test "the lines explain most of what is not shared" do
    inherited = worker.info.inherited_pages
    total = worker.groups(:line).total.unshared.space
    note "#{inherited}, by lines #{total.round}"
    assert_includes 0.4 * inherited[:unshared]..1.1 * inherited[:unshared], total
  end

  test "the report names the lines" do
    text = worker.report.to_s
    assert_match(/but no longer: \d/, text)
    assert_match(/unshared_puma\.rb:10 \S*counted/, text)
  end
end
