# frozen_string_literal: true

# On a terminal of 80 columns, where all that has a name has a very long one.

require_relative "../../testing"
require_relative "command_helper"

class EightyTest < Test
  include CommandHelper

  FOLDERS = "/srv/#{"a_folder_with_a_rather_long_name/" * 6}"
  CONTROLLER = "application_settings_controller.rb"
  HOSTILE = "#{FOLDERS}app/controllers/#{CONTROLLER}:1234 Company::Department::ApplicationSettingsController#show_all_of_the_settings"
  ENORMOUS = "#{FOLDERS}lib/#{"a_file_whose_name_alone_is_wider_than_" * 2}column.rb:77 Enormous#make"
  GEM_FILE = "database_statements_and_more.rb"
  OF_A_GEM = "/usr/local/bundle/ruby/3.4.0/gems/activerecord-with-a-long-name-7.1.2/lib/active_record/connection_adapters/abstract/#{GEM_FILE}:4321 " \
             "ActiveRecord::ConnectionAdapters::DatabaseStatements#select_all"
  CPP = "!#{FOLDERS}libprotobuf-with-a-long-name.so.32.0.12 _ZN6google8protobuf5Arena8AllocateEm"
  LONG_CLASS = "Company::Department::Subdivision::ApplicationSettings::Entry"

  # Profiles a minute apart, with a leak of each line.
  def hostile_series(folder, count)
    majors = Array.new(count) { |index| [100 + 10 * index, Build::STARTED + (10 + index) * Build::MINUTE - 1_000_000_000, (1 + index) * 100_000, (100 + 20 * index) << 20, 50 << 20] }
    Array.new(count) do |index|
      account = {"rss" => (200 + 20 * index) << 20, "slots_live" => (100 + 20 * index) << 20, "malloc_live" => 50 << 20, "allocator" => "jemalloc 5.3.1"}
      build = Build.new("directory" => FOLDERS.chomp("/"), "taken_ns" => Build::STARTED + (10 + index) * Build::MINUTE, "account" => account, "account_at_start" => account,
                        majors: majors.first(index + 1), "objects" => (1 + index) * 100_000, "reason" => "periodic",
                        "title" => "puma: cluster worker 0: 4711 [#{"a_title_" * 10}]",
                        "gc" => {"count" => 100 + 10 * index, "minor" => 5 * index, "major" => 50 + 5 * index, "last_major_ns" => majors[index][1], "last_major_gc" => 100 + 10 * index})
      (0..index).each do |step|
        at_gc = 95 + 10 * step
        build.row([OF_A_GEM, HOSTILE], LONG_CLASS, inuse: 40, at_gc: at_gc, freed: 3).row([HOSTILE], LONG_CLASS, type: "T_OBJECT", inuse: 30, at_gc: at_gc)
             .row([ENORMOUS, HOSTILE], "String", inuse: 20, at_gc: at_gc, young: 1)
             .blocks([CPP, "#{OF_A_GEM[/\A\S+/]} Arena.new", OF_A_GEM, HOSTILE], "libprotobuf-with-a-long-name.so.32.0.12", 50_000, at_gc: at_gc, inuse: 30)
      end
      write(File.join(folder, format("heap-%02d.pb.gz", index)), PprofEncoder.gzip(build.raw))
    end
  end

  # GCs, one of them large.
  def gc_profile
    log = [8, 1_699_999_999_000, 8, 2, 6, 9_000_000, 1_000_000, 2_500_000, 70_000_000_000, 9_000_000, 400_000, 100_000_000, 800_000_000, 1, 81_000, 1, 0, 1, 1, 0, 7, 800, 20, 1, 400, 40] +
          [1, 500, 1, 0, 0, 500, 200, 700, 80_000, 20, 0, 0, 0]
    causes = [{"reason" => "oldgen", "gcs" => 8, "ns" => 10_000_000_000, "longest_stop_ns" => 2_500_000_000}]
    build = Build.new("title" => "puma: #{"a_title_" * 20}", "gc" => {"count" => 10, "log" => log, "causes" => causes, "cpu_ns" => 50_000_000_000}).row([OF_A_GEM, HOSTILE], LONG_CLASS, alloc: 40)
    write(File.join(dir, "gc", "gc.pb.gz"), PprofEncoder.gzip(build.raw))
  end

  # Runs of a command, whose tests have long names.
  def runs(name, objects)
    3.times do |number|
      tests = {"#{HOSTILE} #{"and so on " * 20}" => objects}
      data = {format: 1, allocated: 1_000_000 + objects, retained: 5 << 20, peak: 60 << 20, sampled: false, tests: tests, environment: {"gem #{"long-" * 20}name" => name, "ruby" => "ruby 3.4.5"}}
      FileUtils.mkdir_p(File.join(dir, name, "run-00#{number}"))
      write(File.join(dir, name, "run-00#{number}", "1.json"), JSON.generate(data))
    end
    File.join(dir, name)
  end

  def at_80(*arguments) = (@texts ||= {})[arguments] ||= on_terminal(*arguments, columns: 80).gsub(/\e\[\d*m/, "")

  attr_reader :commands

  def setup
    profiles = hostile_series(dir, 25)
    last = profiles.last
    held = File.join(dir, "held", "held.pb")
    FileUtils.mkdir(File.dirname(held))
    kept = HeldBuild.new(Build.new.row([OF_A_GEM, HOSTILE], LONG_CLASS, inuse: 40, at_gc: 95))
    ways = Array.new(9) { |level| "ivar @#{"of_level_#{level}_" * 5} of #{LONG_CLASS}" }
    write(held, HeapSample::Formats.encode(kept.way(0, ["constant #{LONG_CLASS}::ALL", *ways, "local local #{"x" * 90} of block in <main> @/srv/#{"deep/" * 30}a.rb:7"]).profile, "pb"))
    FileUtils.mkdir(File.join(dir, "gc"))
    bys = HeapSample::Groups::BY.map { |by| ["--by", by.to_s] }
    churn = [[last, "--value", "churn"]]
    ages = [[last, "--by", "generation"], [last, "--by", "generation", "--age", "5.."]]
    @commands = {
      "top" => [*bys.map { |by| [last, *by] }, [last, "--stacks"], [last, "--value", "alloc_objects"], [last, "--kind", "malloc"], *churn, *ages],
      "tree" => [[last], [last, "--callers"], [last, "--by", "method"]],
      "diff" => [profiles.values_at(0, 24), profiles.values_at(0, 10, 24), [*profiles.values_at(0, 24), "--by", "method", "--stacks"]],
      "line" => [["#{CONTROLLER}:1234", dir], ["column.rb:76", dir]], "why" => [[held], [held, "--full", "--by", "line"]],
      "diagnose" => [[dir], [dir, "--stacks"], [last], [last, "--stacks"], [last, "--about"]],
      "gc" => [[gc_profile], [File.join(dir, "gc"), "--top", "1"]], "compare" => [[runs("base_of_the_pull_request", 5000), runs("head_of_the_pull_request", 500_000)]]
    }
  end

  test "on 80 columns no line of any command is longer, however long the names are", missing: ONCE do
    commands.each do |command, all|
      all.each do |arguments|
        text = at_80(command, *arguments)
        # A word that is longer than a line, such as the path of a file, is not broken, nor is a command to paste.
        wide = text.lines(chomp: true).select { |line| line.length > 80 && line.strip.include?(" ") && !line.match?(/\A(?:heapsample: |    heapsample why \S+ --class '\S+'\z)/) }
        assert_equal([command, arguments.drop(1), []], [command, arguments.drop(1), wide])
      end
    end
  end

  test "the file and the line of each row are whole", missing: ONCE do
    wanted = {"#{CONTROLLER}:1234" => %w[top tree diff diagnose], "#{GEM_FILE}:4321" => %w[top tree diff],
              "column.rb:77" => %w[top diff]}
    wanted.each do |place, names|
      names.each do |command|
        commands.fetch(command).reject { |arguments| arguments.intersect?(%w[malloc --about]) || (arguments.include?("--by") && !arguments.include?("generation")) }.each do |arguments|
          text = at_80(command, *arguments)
          whole = text.lines.any? { |line| line.include?(place[/[^\/]+\z/]) }
          assert(whole, "#{command} #{arguments.drop(1).join(" ")} has no #{place}:\n#{text}")
          cut = text.scan(/\S*#{Regexp.escape(place[-12..])}/).reject { |found| found.end_with?(place) && found.match?(%r{(?:\A|/|`)#{Regexp.escape(place)}\z}) }
          assert_equal([command, arguments.drop(1), []], [command, arguments.drop(1), cut]) unless place.start_with?("column")
        end
      end
    end
  end

  test "no command was left out" do
    names = printed("help").scan(/^    ([a-z]+) {2,}\S/).flatten - ["heapsample"]
    live = %w[ps watch start]           # test_live.rb
    assert_equal(names.sort, [*commands.keys, *live, "run", "page", "convert", "merge", "agent", "compact"].sort)      # which print no table
  end
end
