# frozen_string_literal: true

# Labels: rows that have them, grouped and filtered by them, saved, merged, compared; the Rack application.

require "fileutils"
require "open3"
require "rbconfig"
require "stringio"
require "tmpdir"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class LabelsTest < Test
  include Builds
  include HeapSample

  ORDERS = {"controller" => "orders", "action" => "index"}.freeze
  LINE = ["/srv/app/models/x.rb:12 Foo#bar", "/srv/app/main.rb:3 <main>"].freeze

  # 100 of orders, 50 of users, 20 without labels, 10 without room; and malloc's, of orders.
  def labelled(factor = 1)
    Build.new.row(LINE, "String", inuse: 100 * factor, at_gc: 20, labels: ORDERS)
         .row(LINE, "String", inuse: 50, at_gc: 20, labels: {"controller" => "users", "tenant" => "a=b c"})
         .row(LINE, "String", inuse: 20, at_gc: 20)
         .row(LINE, "Array", inuse: 10, at_gc: 20, labels: {"labels" => "(other)"})
         .blocks(LINE, "libfoo.so.1", 2000, inuse: 30, at_gc: 20, labels: ORDERS)
  end

  def samples(groups) = groups.to_h { |group| [group.key, group.inuse.samples] }

  test "rows are grouped by a label's values; others are (none), or (other) where there was no room" do
    profile = labelled.profile
    assert_equal({"orders" => 130, "users" => 50, "(none)" => 20, "(other)" => 10}, samples(profile.groups("label:controller")))
    assert_equal({"index" => 130, "(none)" => 70, "(other)" => 10}, samples(profile.groups(:"label:action")))
    assert_equal({"orders" => 30}, samples(profile.groups("label:controller", kind: :malloc)))
    assert_equal(%w[action controller tenant], profile.label_names)
    assert_equal([ORDERS, {"controller" => "users", "tenant" => "a=b c"}, {}, {"labels" => "(other)"}, ORDERS], profile.rows.map(&:labels))
    assert_equal(ORDERS, profile.rows.first.to_h.fetch(:labels))
    assert((profile.rows.first in {labels: Hash => labels}) && labels == ORDERS)
  end

  # As a damaged or hostile file may have them: grouped, converted and drawn as the labels that they hold.
  test "lines that are no labels are left out" do
    odd = Build.new.row(LINE, "String", inuse: 100, at_gc: 20, labels: ORDERS)
    odd.raw[:rows].last[Columns::LABEL_SET] = odd.raw[:texts].push("=x\nplain\n\ncontroller=orders\n").size - 1
    profile = odd.profile
    assert_equal(%w[controller], profile.label_names)
    assert_equal([{"controller" => "orders"}], profile.rows.map(&:labels))
    again = Profile.load(StringIO.new(Formats.encode(profile, "pb.gz")), name: "again")
    assert_equal({"orders" => 100}, samples(again.groups("label:controller")))
    sheet = ViewSheet.of_profile(profile, ViewFrames.new(Layout.new), profile.label_names)
    assert_equal(%i[label:controller], sheet.keys.grep(/label:/))
  end

  test "every report takes a label" do
    profile = labelled.profile
    by = "label:controller"
    [profile.report(by: by), profile.top(by: by), profile.churn(by: by), profile.generations(by: by),
     (labelled(2).profile - profile).report(by: by)].each do |report|
      assert(report.to_s.include?("orders"), report.class.name) unless report.is_a?(Churn)
      report.to_h
    end
    assert_equal(%w[orders users (none) (other)], profile.top(by: by, value: :inuse_objects).map(&:key))
    assert_error(ArgumentError, /cannot group by "label:": by must be one of :line, .*, or "label:NAME"/) { profile.top(by: "label:") }
    assert_error(ArgumentError, /cannot group by :colour/) { profile.top(by: :colour) }
  end

  test "filters: a value, a list, a pattern, any value, several labels, none" do
    wanted = ->(**label) { labelled.profile.filter(label: label).rows.sum { |row| row.inuse.samples } }
    assert_equal(130, wanted.(controller: "orders"))
    assert_equal(180, wanted.(controller: %w[orders users]))
    assert_equal(50, wanted.(controller: "us*"))
    assert_equal(130, wanted.(controller: /\Aord/))
    assert_equal(190, wanted.(controller: true))
    assert_equal(50, wanted.(tenant: "a=b c"))
    assert_equal(0, wanted.(controller: "orders", tenant: true))
    assert_equal(10, wanted.(controller: "(other)"))
    assert_equal(20, labelled.profile.filter(label: {controller: "(none)"}).rows.sum { |row| row.inuse.samples })
    [nil, {}, "orders", {controller: 1}, {controller: []}].drop(1).each do |wrong|
      assert_error(ArgumentError, /label must be a Hash of names and values/) { labelled.profile.filter(label: wrong) }
    end
    filter = Filter.new(label: {controller: /x/, action: true}, class: "A")
    assert_equal("class A, label controller /x/, label action (any)", filter.to_s)
    assert_equal({class: "A", label: {controller: "/x/", action: "(any)"}}, filter.names)
  end

  test "saved and read again: what was, also by another writer of the format" do
    profile = labelled.profile
    profile.save(file = StringIO.new("".b), format: "pb.gz")
    again = Profile.load(StringIO.new(file.string), name: "again")
    assert_equal(profile.rows.map(&:labels), again.rows.map(&:labels))
    plain = PprofEncoder.reloaded(labelled)
    assert_equal(profile.rows.map(&:labels), plain.rows.map(&:labels))
    assert_equal({"orders" => 130, "users" => 50, "(none)" => 20, "(other)" => 10}, samples(plain.groups("label:controller")))
  end

  test "rows under different labels are different rows when profiles are compared" do
    growth = labelled(3).profile - labelled.profile
    grown = growth.groups("label:controller").select { |group| group.gained.space > group.lost.space }
    assert_equal(%w[orders], grown.map(&:key))
  end

  test "who keeps it: of what some label allocated" do
    require "heapsample"
    build = held_build
    rows = build.raw[:rows]
    rows.each_with_index { |row, index| row[Columns::LABEL_SET] = build.raw[:texts].push("controller=c#{index % 2}").size - 1 }
    profile = build.profile
    all, half = [profile, profile.filter(label: {controller: "c0"})].map { |one| one.why.total.space }
    assert(half > 0 && half < all, "#{half} of #{all}")
  end

  test "the page has labels among what rows are grouped by, and a text for each" do
    profile = labelled.profile
    frames = ViewFrames.new(Layout.new)
    sheet = ViewSheet.of_profile(profile, frames, profile.label_names)
    assert_equal(%i[label:action label:controller label:tenant], ViewGroups.all(profile.label_names).map { |group| group[:name] }.last(3))
    assert_equal({"orders" => 2, "users" => 1, "(none)" => 1, "(other)" => 1}, sheet[:"label:controller"].map { |text| frames.texts[text] }.tally)
    refute(ViewGroups.all.any? { |group| group[:name].start_with?("label") })
  end

  # -- HeapSample::Web ------------------------------------------------------------------

  def asked(web, path, method = "GET", **more)
    web.call({"REQUEST_METHOD" => method, "PATH_INFO" => path, "SCRIPT_NAME" => "/he\"ap", **more})
  end

  test "the Rack application answers a GET, and nothing else" do
    web = Web.new { labelled.profile }
    assert_equal([200, 200, 200, 404, 404, 405], [asked(web, ""), asked(web, "/report"), asked(web, "/heap.pb.gz"), asked(web, "/../x"), asked(web, "/heap"),
                                           asked(web, "/report", "POST")].map(&:first))
    assert(asked(web, "/").last.join.include?('href="/he&quot;ap/growth"'))
    status, headers, body = asked(web, "/report", "HEAD")
    assert_equal([200, []], [status, body])
    [asked(web, "/report"), asked(web, "/nothing")].each do |_, all, text|
      assert_equal(text.sum(&:bytesize).to_s, all["content-length"])
      assert_equal(%w[nosniff no-store], all.values_at("x-content-type-options", "cache-control"))
      assert(all.keys.all? { |name| name == name.downcase } && all.values.all?(String))
    end
    assert(headers["content-type"].start_with?("text/plain"))
    saved = asked(web, "/heap.pb.gz")
    assert_equal("application/octet-stream", saved[1]["content-type"])
    assert_equal({"orders" => 130, "users" => 50, "(none)" => 20, "(other)" => 10},
                 samples(Profile.load(StringIO.new(saved.last.join), name: "it").groups("label:controller")))
  end

  # Seconds later for the Web: nothing is given again.
  def later(web) = web.instance_variable_get(:@made).clear

  test "growth is that since the base, which a POST takes and a GET does not change" do
    factors = [1, 1, 3, 3, 3, 3]
    web = Web.new { labelled(factors.shift).profile }
    assert(asked(web, "/growth").last.join.start_with?("Process #{Process.pid} has no base to compare with. "))
    assert_equal([303, "/he\"ap/growth"], asked(web, "/growth", "POST").then { |status, headers, _| [status, headers["location"]] })
    2.times do
      assert(asked(web, "/growth").last.join.include?("Foo#bar"))
      later(web)
    end
    assert_equal(303, asked(web, "/growth", "POST").first)
    refute(asked(web, "/growth").last.join.include?("Foo#bar"))
    assert_equal([], factors)
  end

  test "pages of other sites change nothing, and make it do nothing" do
    taken = 0
    web = Web.new { (taken += 1) && labelled.profile }
    host = {"HTTP_HOST" => "app.test:3000"}
    [{"HTTP_SEC_FETCH_SITE" => "cross-site"}, {"HTTP_SEC_FETCH_SITE" => "same-site", "HTTP_ORIGIN" => "http://app.test:3000"}, {"HTTP_ORIGIN" => "http://evil.test"},
     {"HTTP_ORIGIN" => "null"}, {"HTTP_ORIGIN" => "http://app.test:3001"}].each do |from|
      assert_equal([403, 403, 403, 200], [asked(web, "/growth", "POST", **host, **from), asked(web, "/page", **host, **from), asked(web, "/report", "HEAD", **host, **from),
                                   asked(web, "/", **host, **from)].map(&:first))
    end
    assert_equal(0, taken)
    [{}, {"HTTP_ORIGIN" => "https://app.test:3000"}, {"HTTP_SEC_FETCH_SITE" => "same-origin", "HTTP_ORIGIN" => "https://shown.test"}].each do |from|
      assert_equal(303, asked(web, "/growth", "POST", **host, **from).first)
    end
    assert_equal([405, "GET, HEAD, POST"], asked(web, "/growth", "DELETE").then { |status, headers, _| [status, headers["allow"]] })
  end

  test "one answer is made at a time, and given again; HEAD makes none" do
    taken, most, now = 0, 0, 0
    web = Web.new do
      most = [most, now += 1].max
      sleep 0.05
      now -= 1
      (taken += 1) && labelled.profile
    end
    assert_equal([200, "text/plain; charset=utf-8", []], asked(web, "/report", "HEAD").then { |status, headers, body| [status, headers["content-type"], body] })
    assert_equal([404, []], asked(web, "/nothing", "HEAD").values_at(0, 2))
    assert_equal(0, taken)
    answers = Array.new(20) { Thread.new { asked(web, "/report") } }.map(&:value)
    assert_equal([1, 1, 1], [taken, most, answers.map(&:last).uniq.size])
    answers.first[1]["x-own"] = "1"
    refute(asked(web, "/report")[1].key?("x-own"))
    asked(web, "/heap.pb.gz")
    assert_equal(2, taken)
  end

  test "a page may load nothing but its own script and style, which are named by their hashes" do
    template = File.join(Dir.mktmpdir, "viewer.html")
    policy = "default-src 'none'; script-src 'sha256-ab'; style-src 'sha256-cd'"
    File.write(template, %(<meta http-equiv="Content-Security-Policy" content="#{policy}"><title><!--title--></title><!--data-->))
    profile = labelled.profile
    profile.define_singleton_method(:to_html) { View.new(self, template: template).to_s }
    web = Web.new { profile }
    assert_equal("#{policy}; frame-ancestors 'self'", asked(web, "/page")[1]["content-security-policy"])
    index = asked(web, "/")
    assert_equal("default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'", index[1]["content-security-policy"])
    refute(index.last.join.match?(/style|script/))
  ensure
    FileUtils.rm_rf(File.dirname(template))
  end

  test "where nothing is sampled it says so, and what to do" do
    %w[/report /page /heap.pb.gz /growth].each do |path|
      status, _, body = asked(Web.new { nil }, path)
      assert_equal([503, true], [status, body.join.include?("Start Ruby with --heap-sample or RUBY_HEAP_SAMPLE=on")])
    end
  end

  test "code of frameworks works on a Ruby without the sampler" do
    script = <<~'RUBY'
      GC.send(:remove_const, :SampleProfile) if defined?(GC::SampleProfile)
      require "heapsample/request_labels"
      require "heapsample/web"
      p HeapSample::RequestLabels.with(job: "A") { 5 }, HeapSample::RequestLabels.set(job: nil)
      p HeapSample::Web.call({"REQUEST_METHOD" => "GET", "PATH_INFO" => "/report"}).first
    RUBY
    out, status = Open3.capture2e(RbConfig.ruby, "-w", "--disable=gems", "-I", "src/lib", "-e", script)
    assert(status.success?, out)
    assert_equal("5\nnil\n501\n", out)
  end
end
