# frozen_string_literal: true

# The page that flame writes of a folder, and what it opens with; test/fast/page looks at pages themselves.

require_relative "../../testing"
require_relative "command_helper"
require_relative "../library/counted_series"

class PageTest < Test
  include CommandHelper

  include CountedSeries

  # The last profiles of a process, a minute apart: keep= deleted the others.
  def write_profiles(series, count)
    series.to_a.last(count).each_with_index { |profile, index| write(File.join(@profiles, "#{profile.info.process_id}-#{index}.pb.gz"), HeapSample::Formats.encode(profile, "pb.gz")) }
  end

  # The object in a page.
  def page_data(path)
    data = Zlib.gunzip(File.binread(path)[%r{<script id="data"[^>]*>(.*?)</script>}m, 1].unpack1("m0"))
    JSON.parse(data[4, data.unpack1("V")])
  end

  def setup
    @view = with_view(dir) unless NO_PAGE
    @profiles = File.join(dir, "profiles")
    FileUtils.mkdir_p(@profiles)
    write_profiles(level(24, pid: 100, "title" => "puma: cluster"), 20)
    write_profiles(leaking(24, pid: 200), 9)
  end

  # The page of the folder of profiles: its data, and what the command printed.
  def page(*arguments)
    path = File.join(dir, "page.html")
    result = heapsample("page", @profiles, *arguments, "-o", path, env: @view)
    flunk(result.err) unless result.status.zero?
    [page_data(path), result.err]
  end

  test "a folder's page shows the worst process, not the one with most profiles, and opens with the diagnosis of all", missing: NO_PAGE do
    data, said = page
    assert(data["title"].start_with?("Heap profile of process 200,"), data["title"])
    worst, other = data["diagnosis"]["processes"]
    assert_equal([[[200], "likely"], [[100], "none"]], [worst, other].map { |process| process.values_at("pids", "state") })
    assert_equal(["leak (likely)", "no leak found"], data["states"].values_at("likely", "none"))
    assert(worst["sentence"].start_with?("Leak (likely): ") && worst["sentence"].include?(" cart.rb:12 `Cart#add`"), worst["sentence"])
    assert_equal([0, 200, [[1, 100]]], [*data.values_at("process", "pid"), data["others"].map { |one| one.values_at("process", "pid") }], "processes to choose from")
    from, to = worst["window"]
    taken = data["accounts"].map { |account| account["at"] }
    assert(from < to && to <= taken.max && from >= taken.min - 3600, "the judged time: #{worst["window"]}")
    assert_nil(other["window"])
    assert(said.include?("process 200, 9 profiles") && said.include?("; 1 more is in the diagnosis"), said)
  end

  test "a page of a folder has eight processes at most, and says how many are left out; a part of the rows has one", missing: NO_PAGE do
    (300..308).each { |pid| write_profiles(level(3, pid: pid, "title" => "job #{"x" * (pid - 299)}"), 1) }
    data, = page
    assert_equal([7, 3], [data["others"].size, data["left_out"]])
    data, = page("--class", "String")
    assert_equal([0, 0], [data["others"].size, data["left_out"]])
  end

  test "why -o writes the page, which opens with who keeps what, of what a filter leaves", missing: NO_PAGE do
    held = write(File.join(dir, "held.pb.gz"), HeapSample::Formats.encode(held_build.profile, "pb.gz"))
    written = File.join(dir, "why.html")
    options = {env: @view}
    printed("why", held, "-o", written, **options)
    all = page_data(written)
    assert_equal(["kept", true], [all["opens"], !all["kept"].nil?])
    printed("why", held, "--class", "Ticket", "-o", written, **options)
    assert(page_data(written)["profile"]["count"] != all["profile"]["count"] || page_data(written)["about"] != all["about"])
    fails(2, /--format cannot be combined with -o; remove one of them/, "why", held, "--format", "folded", "-o", written, **options)
    fails(2, /a page must end with \.html/, "why", held, "-o", File.join(dir, "why.svg"), **options)
    assert(!page.first.key?("opens") || page.first["opens"].nil?)
  end

  test "of a part of the profiles nothing is diagnosed", missing: NO_PAGE do
    data, = page("--class", "String")
    assert_nil(data["diagnosis"])
  end
end
