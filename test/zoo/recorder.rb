# frozen_string_literal: true

require "fileutils"
require_relative "exhibit"

# Runs programs of the zoo under the sampler at its default settings with diagnose=1%, with a profile every two seconds, as many beside each
# other as told. Each series is a folder of the name of its exhibit.
class Recorder
  SEED = ENV.fetch("ZOO_SEED", "1")
  SETTINGS = ["every=2,diagnose=1%,quiet,seed=#{SEED}", ENV.fetch("SETTINGS", nil)].compact.join(",").freeze

  def initialize(ruby:, gems:, into:, beside: 3)
    @ruby = ruby
    @gems = gems
    @into = into
    @beside = beside
  end

  # Yields each exhibit when its series is complete, with false if the program failed.
  def record(exhibits)
    waiting = exhibits.dup
    running = {}
    until waiting.empty? && running.empty?
      start(waiting.shift).then { |pid, exhibit| running[pid] = exhibit } while running.size < @beside && waiting.any?
      pid, status = Process.wait2
      yield running.delete(pid), status.success?
    end
  end

  def folder(exhibit) = File.join(@into, exhibit.name)
  def log(exhibit) = File.join(@into, "#{exhibit.name}.log")

  private

  def start(exhibit)
    FileUtils.rm_rf(folder(exhibit))
    FileUtils.mkdir_p(folder(exhibit))
    pid = Process.spawn(environment(exhibit), "timeout", "-k", "5", (exhibit.header.seconds + 60).to_s, @ruby, exhibit.header.path,
                        chdir: Exhibit::PROGRAMS, %i[out err] => log(exhibit), in: File::NULL)
    [pid, exhibit]
  end

  def environment(exhibit)
    { "RUBY_HEAP_SAMPLE" => "#{SETTINGS},output=#{folder(exhibit)}/heap-%p-%t.pb.gz",
      "GEM_HOME" => @gems, "GEM_PATH" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil, "ZOO_SEED" => SEED, **exhibit.environment }
  end
end
