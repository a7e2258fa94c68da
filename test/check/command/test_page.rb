# frozen_string_literal: true

# The page that flame writes of a folder, and what it opens with; test/fast/page looks at pages themselves.

require_relative "../../testing"
require_relative "command_helper"

class PageTest < Test
  include CommandHelper

  # A process whose RSS grows by +step+ MiB a minute, which a line keeps.
  def write_process(dir, pid, profiles, step)
    profiles.times do |minute|
      sizes = {"slots_live" => (40 + step * minute) << 20, "slots_free" => 8 << 20, "code_and_files" => 12 << 20}
      account = sizes.merge("rss" => sizes.values.sum, "pss" => nil, "taken_ns" => Build::STARTED, "cost_ns" => 1)
      build = Build.new(process_id: pid, process_start: format("%016x", pid), taken_ns: Build::STARTED + (minute + 1) * Build::MINUTE, account: account,
                        gc: {"count" => 100 + 10 * minute, "minor" => 80, "major" => 20 + 2 * minute})
      build.row(["/srv/app/steady.rb:1 Steady#keep"], "String", birth: 5, inuse: 80)
      (0..minute).each { |birth| build.row(["/srv/app/leak.rb:7 Leak#now"], "Array", type: "T_ARRAY", birth: 100 + 10 * birth, inuse: 2 * step) } if step > 0
      write(File.join(dir, "#{pid}-#{minute}.pb.gz"), PprofEncoder.gzip(build.raw))
    end
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
    write_process(@profiles, 100, 20, 0)
    write_process(@profiles, 200, 9, 5)
  end

  # The page of the folder of profiles: its data, and what the command printed.
  def page(*arguments)
    path = File.join(dir, "page.html")
    result = heapsample("page", @profiles, *arguments, "-o", path, env: @view)
    flunk(result.err) unless result.status.zero?
    [page_data(path), result.err]
  end

  test "a folder's page shows the process that grew most, not the one with most profiles, and opens with the diagnosis of all", missing: NO_PAGE do
    data, said = page
    assert(data["title"].start_with?("Heap profile of process 200,"), data["title"])
    assert_equal([200, 100], data["diagnosis"]["processes"].map { |process| process["pid"] })
    refute(data["diagnosis"]["verdict"]["sentence"].empty?)
    assert(said.include?("process 200, 9 profiles") && said.include?("; 1 more is in the diagnosis"), said)
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
    data, = page("--class", "Array")
    assert_nil(data["diagnosis"])
  end
end
