# frozen_string_literal: true

require "json"
require "timeout"
require "tmpdir"
require_relative "program"

class StuckTest < Test
  include Program

  REDIS = ("no redis-server" unless system("redis-server --version", %i[out err] => File::NULL))

  # A machine stack may still have what one or two wait for.
  test "the gem async: fibers that can never wake are named, and those that wait for others, for a time or at rest are not" do
    stuck = profile_of("async", settings: "interval=1k,malloc=4k").report.stuck
    conditions, queues = stuck.map { |place| summary(place) }.partition { |_, file,| file == "condition.rb" }
    counts = queues.to_h { |*place, count| [place, count] }
    waits = "fiber waits for Thread::Queue"
    assert_equal [[waits, "async.rb", line("async", "PAIR")], [waits, "async.rb", line("async", "QUEUE")]].sort, counts.keys.sort
    assert_includes 3..4, counts[[waits, "async.rb", line("async", "QUEUE")]]
    assert_includes 2..8, counts[[waits, "async.rb", line("async", "PAIR")]]
    assert_includes 2..3, conditions.sum(&:last)
    assert stuck.all?(&:fibers?)
    assert_operator stuck.sum(&:space), :>, 3 * 4096
  end

  test "beside Puma, Sidekiq, Active Record and pools at rest, only the lost threads are named", missing: REDIS do
    file = with_redis do |url|
      run_program("servers", url, settings: "interval=16k,malloc=512") { |printed| assert_operator printed.to_i, :>, 25, printed }
    end
    places = JSON.parse(heapsample("why", "--json", file)).fetch("stuck")
    assert_equal [["waits for Thread::Queue", "servers.rb", line("servers", "LOST"), 7]],
                 places.map { |place| [place["what"], File.basename(place["path"]), place["line"], place["threads"]] }
    assert_operator places.first["bytes"], :>, 7 * 320_000 # each is so long that it is sampled for certain
    assert_match(/^ +7 +[\d.]+ MiB +waits for Thread::Queue +.*servers\.rb:#{line("servers", "LOST")}$/, heapsample("why", file))
  end

  private

  def summary(place) = [place.what, File.basename(place.path), place.line, place.threads]

  def with_redis
    Dir.mktmpdir do |dir|
      socket = "#{dir}/redis.sock"
      pid = spawn("redis-server", "--unixsocket", socket, "--port", "0", "--save", "", "--dir", dir, %i[out err] => "#{OUT}/redis.log")
      Timeout.timeout(60) { sleep 0.1 until File.socket?(socket) }
      yield "unix://#{socket}"
    ensure
      Process.kill(:TERM, pid)
      Process.wait(pid)
    end
  end
end
