# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "exhibit"
require_relative "form"

# Runs programs of the zoo under the sampler at its default settings with diagnose=1%, as many at the same time as asked for. Each series
# is a folder with the name of its exhibit; the truth about it is next to the folder.
class Recorder
  SEED = ENV.fetch("ZOO_SEED", "1")
  GRACE = 60 # seconds for gems to load and for the last profile

  # `form`: how to record; `into`: the folder that has a folder for each form.
  def initialize(ruby:, gems:, into:, form:, jobs: 3)
    @ruby = ruby
    @gems = gems
    @into = File.join(into, form.name)
    @form = form
    @jobs = jobs
  end

  # Yields each exhibit when its series is complete, with false if the program failed.
  def record(exhibits, &)
    @form.loaded { record_all(exhibits, &) }
  end

  def folder(exhibit) = File.join(@into, exhibit.name)
  def log(exhibit) = "#{folder(exhibit)}.log"
  def truth(exhibit) = exhibit.truth(@form.seconds(exhibit.header))

  private

  # Waits for its programs alone: the busy loops are children too.
  def record_all(exhibits)
    queue = exhibits.each_with_object(Thread::Queue.new) { |exhibit, waiting| waiting << exhibit }.close
    done = Thread::Queue.new
    runners = Array.new(@jobs) { Thread.new { while (exhibit = queue.pop) do done << [exhibit, run(exhibit)] end } }
    exhibits.size.times { yield(*done.pop) }
    runners.each(&:join)
  end

  # Whether it ended well.
  def run(exhibit)
    FileUtils.rm_rf(folder(exhibit))
    FileUtils.mkdir_p(folder(exhibit))
    File.write("#{folder(exhibit)}.json", "#{JSON.generate(truth(exhibit))}\n")
    pid = Process.spawn(environment(exhibit), "timeout", "-k", "5", (@form.seconds(exhibit.header) + GRACE).to_s, @ruby, exhibit.header.path,
                        chdir: Exhibit::PROGRAMS, %i[out err] => log(exhibit), in: File::NULL)
    Process.wait2(pid).last.success?
  end

  def environment(exhibit)
    { "RUBY_HEAP_SAMPLE" => "#{settings},output=#{folder(exhibit)}/heap-%p-%t.pb.gz", "ZOO_SECONDS" => @form.seconds(exhibit.header).to_s,
      "GEM_HOME" => @gems, "GEM_PATH" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil, "ZOO_SEED" => SEED, **exhibit.environment }
  end

  def settings = ["every=#{@form.every},diagnose=1%,quiet,seed=#{SEED}", ENV.fetch("SETTINGS", nil)].compact.join(",")
end
