# frozen_string_literal: true

# Noise in all that is not ours: profiles, their settings, answers of a process, and files of a folder.  What is read is
# printed with nothing in it that a terminal obeys; what is not is refused in one sentence.
#
# Bounded and seeded: FUZZ_SECONDS in all (4), FUZZ_SEED (1).  test/all/fuzz/run takes five minutes and a new seed.

require "socket"
require_relative "../../testing"
require_relative "../library/pprof_encoder"
require_relative "hostile_files"

class FuzzTest < Test
  include HostileFiles

  SEED = Integer(ENV.fetch("FUZZ_SEED", "1"))
  PART = Float(ENV.fetch("FUZZ_SECONDS", "4")) / 4
  NASTY = ["\e]0;x\a", "\u202e", "\u{e0041}", "\xff", "\n# x", "`", "|", "a" * 5000, "", "\0", "(eval at x:1)", "/gems/a-1/b"].freeze

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # As many rounds as there is time for; a failure says which it was.
  def self.rounds(name, &round)
    test(name) do
      random = Random.new(SEED)
      ends = FuzzTest.now + PART
      count = 0
      while (started = FuzzTest.now) < ends
        count += 1
        instance_exec(random, &round)
        seconds = FuzzTest.now - started
        flunk("it took #{seconds} s") if seconds > 30
      end
    rescue Minitest::Assertion, StandardError, NoMemoryError, SystemStackError => e
      flunk("seed #{SEED}, round #{count}: #{e.class}: #{e.message[0, 500]}\n#{e.backtrace.first(5).join("\n")}")
    end
  end

  # Names that any program can have: each text of a profile is one in turn.
  def nasty_profile(random)
    raw = sample_build.malloc(["!/usr/lib/libfoo.so foo_new", "app/a.rb:3 A#b"], "libfoo.so", 2000, inuse: 20).raw
    raw.merge(texts: raw[:texts].each_with_index.map { |text, index| index > 0 && random.rand(2).zero? ? text + NASTY.sample(random: random) : text })
  end

  def profiles
    @profiles ||= [PprofEncoder.new(Builds.sample_build.malloc(["!/usr/lib/libfoo.so foo_new", "app/a.rb:3 A#b"], "libfoo.so", 2000, inuse: 20).raw).encode,
                HeapSample::Formats.encode(Builds.held_build.profile, "pb"),
                go_profile("f", "/a.rb", "space", "bytes") { function(1) + location(1) + location(2, 1, 3) + sample([1, 2] * 4) + entry(11, number(1, 7) + number(2, 8)) + number(12, 1 << 19) },
                PprofEncoder.new(nasty_profile(Random.new(1))).encode]
  end

  def damaged(bytes, random)
    bytes = bytes.dup
    random.rand(1..6).times do
      break if bytes.empty?

      at = random.rand(bytes.bytesize)
      case random.rand(5)
      when 0 then bytes.setbyte(at, bytes.getbyte(at) ^ (1 << random.rand(8)))
      when 1 then bytes[at, random.rand(40)] = bytes.byteslice(random.rand(bytes.bytesize), random.rand(60))
      when 2 then bytes[at, random.rand(20)] = random.bytes(random.rand(20))
      when 3 then bytes[at, random.rand(12)] = varint([0, 1, 127, 1 << 31, 1 << 62, (1 << 63) - 1, (1 << 64) - 1].sample(random: random)) + NASTY.sample(random: random).b
      when 4 then bytes = bytes[0, at] if random.rand(4).zero?
      end
    end
    bytes
  end

  rounds("profiles with noise are read or refused") do |random|
    bytes = random.rand(8).zero? ? PprofEncoder.new(nasty_profile(random)).encode : damaged(profiles.sample(random: random), random)
    packed = random.rand(4).zero?
    read_or_refused(packed ? damaged(Zlib.gzip(bytes), random) : bytes, packed ? ".pb.gz" : ".pb")
  end

  # Values that some field of the settings may have, in place of its own.
  ODD = [nil, 0, -1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1.5, 1e300, -1e-300, [], [1], {}, {"a" => 1}, true, *NASTY.map { |text| HeapSample::Printable.utf8(text) }].freeze
  ACCOUNT = {"taken_ns" => 1, "rss" => 1 << 30, "pss" => 1 << 29, "slots_live" => 1 << 29, "slots_free" => 1 << 20, "malloc_live" => 1 << 28, "malloc_waste" => 1 << 20,
             "malloc_metadata" => 100, "stacks" => 5, "unattributed" => 0, "allocator" => "x", "jemalloc" => {"allocated" => 5}, "cost_ns" => 5}.freeze
  ALIVE = %w[threads fibers].to_h { |kind| [kind, {"count" => 3, "made" => [{"path" => "a.rb", "line" => 3, "count" => 2}]}] }.freeze

  def fields(hash, before = []) = hash.flat_map { |name, value| value.is_a?(Hash) && !value.empty? ? [[*before, name], *fields(value, [*before, name])] : [[*before, name]] }

  def bent(meta, random)
    meta = JSON.parse(JSON.generate(meta))
    random.rand(1..3).times do
      *outer, last = fields(meta).sample(random: random)
      (outer.empty? ? meta : meta.dig(*outer))[last] = JSON.parse(JSON.generate(ODD.sample(random: random)))
    end
    meta
  end

  # As bytes, which may be damaged.
  def settings(meta, random)
    bytes = HeapSample::MetaMessage.encode(meta)
    random.rand(3).zero? ? damaged(bytes, random) : bytes
  end

  # What is refused is refused for a reason that a person can read.
  def said_or_refused(*errors)
    yield
  rescue HeapSample::FormatError, ArgumentError, *errors => e
    # What a process answers is escaped where the command prints it.
    said = e.is_a?(HeapSample::FormatError) ? e.message : HeapSample::Printable.text(e.message)
    wrong = said.match?(/comparison of|can't be coerced|undefined|invalid byte|incompatible/) || HeapSample::Printable::UNSAFE.match?(said)
    flunk("#{said}\n#{e.backtrace.first(3).join("\n")}") if wrong
  end

  REAL = Builds.sample_build.raw

  rounds("settings of any kind: reports, growth, merging, series, in text and JSON") do |random|
    base = REAL[:meta].merge("account" => ACCOUNT, "account_at_start" => ACCOUNT, "alive" => ALIVE)
    folder do |dir|
      said_or_refused do
        three_profiles = Array.new(3) do |index|
          times = {"taken_ns" => base["taken_ns"] + index * Build::MINUTE, "gc" => base["gc"].merge("count" => 100 + index)}
          path = write(File.join(dir, "#{index}.pb"), PprofEncoder.new(REAL, meta: settings(bent(base.merge(times), random), random)).encode)
          HeapSample::Profile.load(path)
        end
        one, two, three = three_profiles
        [-> { two.report }, -> { two.generations }, -> { HeapSample::About.new(two) }, -> { (two - one).report }, -> { HeapSample::Retained.new(one, two, three) },
         -> { HeapSample::Tool::Merge.new.add(one).add(two).profile.report }, -> { HeapSample::Series.new([one, two, three]).diagnosis },
         -> { HeapSample::Series.new([one, two, three] * 5).diagnosis }, -> { HeapSample::Diagnosis.of(dir) }].each do |analysis|
          said_or_refused { clean([(found = analysis.call).to_s, HeapSample::Printable.json(found.to_h), *(found.text.to_markdown if found.text.respond_to?(:to_markdown))]) }
        end
        clean([HeapSample::Formats.encode(two, "json")])
      end
    end
  end

  HELLO = {"protocol" => 1, "process_id" => 1, "process_start" => "x", "title" => "t", "taken_ns" => 2 * Build::MINUTE, "started_ns" => Build::MINUTE, "account" => ACCOUNT,
           "account_at_start" => ACCOUNT, "alive" => ALIVE, "gc" => {"count" => 1}, "sampling" => true, "interval" => 65_536, "malloc" => {"state" => "on"}}.freeze

  # The socket of a process that answers with the bytes of the queue.
  def socket_of(answers)
    path = File.join(dir, "x.sock")
    server = UNIXServer.new(path)
    Thread.new do
      loop do
        client = server.accept
        client.gets
        client.write(answers.pop)
      rescue SystemCallError
        nil
      ensure
        client&.close
      end
    end
    path
  end

  rounds("answers of any kind are read, or refused") do |random|
    @answers ||= Thread::Queue.new
    @path ||= socket_of(@answers)
    verb = %i[hello memory profile].sample(random: random)
    body = verb == :profile ? damaged(Zlib.gzip(profiles.sample(random: random)), random) : JSON.generate(bent(HELLO, random)).b
    body = damaged(body, random) if random.rand(4).zero?
    answer = "heap-sample/1 #{%w[ok ok ok error].sample(random: random)} #{verb == :profile ? "pprof" : "json"} #{body.bytesize}\n".b + body
    @answers << (random.rand(4).zero? ? damaged(answer, random) : answer)
    said_or_refused(HeapSample::LiveProcess::Refused) { HeapSample::LiveProcess.named(@path).public_send(verb) }
  end

  # One of the kinds that a folder may have, under any name.
  def plant(path, random)
    return if File.exist?(path) || File.symlink?(path)

    case random.rand(8)
    when 0 then File.mkfifo(path)
    when 1 then Dir.mkdir(path)
    when 2 then UNIXServer.new(path).close
    when 3 then File.symlink(["/dev/zero", "/dev/null", "nowhere", "/", File.basename(path)].sample(random: random), path)
    when 4 then File.binwrite(path, random.bytes(random.rand(100)))
    when 5 then File.open(path, "w") { |file| file.truncate(random.rand(1 << 42)) }
    when 6 then File.binwrite(path, Zlib.gzip(damaged(profiles.sample(random: random), random)))
    when 7 then File.write(path, "x", perm: 0)
    end
  rescue SystemCallError, ArgumentError
    nil                           # no file can have this name
  end

  rounds("files of any kind and name: the others of the folder are read") do |random|
    folder do |dir|
      2.times { |index| write(File.join(dir, "good#{index}.pb"), PprofEncoder.new(REAL.merge(meta: REAL[:meta].merge("taken_ns" => REAL[:meta]["taken_ns"] + index * Build::MINUTE))).encode) }
      random.rand(1..9).times do
        name = "#{(NASTY.sample(random: random).b + random.bytes(2)).delete("/\0")[0, 200]}#{%w[.pb .pb.gz].sample(random: random)}"
        plant(File.join(dir, name), random)
      end
      # The folder is what the user named, and may have any name, too.
      found = HeapSample::Series.all(dir)
      assert(found.sum(&:size) >= 2, found.inspect)
      clean(found.flat_map { |series| series.warnings + [HeapSample::Diagnosis.new([series]).text.to_markdown] })
    end
  end
end
