# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# The profiles of one exhibit, in the order of time, and parts of them from the beginning.
class ZooSeries
  NAME = /\Aheap-(\d+)-(\d{8}T\d{6}).*\.pb(\.gz)?\z/

  def initialize(folder)
    @folder = File.expand_path(folder)
    @profiles = Dir.children(folder).grep(NAME).map { |name| [name[NAME, 2], name] }.sort
    raise ArgumentError, "#{folder}: no profile heap-PID-TIME.pb.gz is there" if @profiles.empty?
  end

  # How many profiles there are: of several processes, the most that one has.
  def size = clock.size

  # Of all profiles, in the order of time.
  def paths = @profiles.map { |_, name| File.join(@folder, name) }

  # Seconds from the first profile of all to profile `count`.
  def seconds(count) = seconds_of(moment(count)) - seconds_of(@profiles.first.first)

  # Yields a folder that has what was there when the process with most profiles had written `count`.
  def first(count)
    Dir.mktmpdir("zoo") do |folder|
      @profiles.each { |time, name| File.symlink(File.join(@folder, name), File.join(folder, name)) if time <= moment(count) }
      yield folder
    end
  end

  private

  def moment(count) = clock.fetch([count, size].min - 1)
  def clock = @clock ||= @profiles.group_by { |_, name| name[NAME, 1] }.values.max_by(&:size).map(&:first)
  def seconds_of(time) = Time.utc(*time.scan(/\d{2}/).then { |year, year2, *rest| [year + year2, *rest] }).to_i
end
