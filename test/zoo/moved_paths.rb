# frozen_string_literal: true

require "heapsample"
require "stringio"

# A profile with other paths, as it would have been recorded there: a recorded series should not name the folders of the machine it was
# recorded on.
#
#   MovedPaths.new("/home/me/zoo" => "/srv/zoo").call(File.binread("heap.pb"))
class MovedPaths
  def initialize(paths)
    @paths = paths.sort_by { |from, _| -from.size }.to_h
    @pattern = Regexp.union(@paths.keys)
  end

  # Addresses follow from paths, so it is read and written.
  def call(bytes)
    profile = HeapSample::Profile.load(StringIO.new(bytes), name: "a profile")
    profile.texts.map! { |text| moved(text) }
    moved = HeapSample::Profile.new(meta: moved(profile.meta), texts: profile.texts, stacks: profile.stacks, rows: profile.table, holders: profile.holders)
    StringIO.new("".b).tap { |out| HeapSample::PprofWriter.new(moved).write(out) }.string
  end

  private

  def moved(value)
    case value
    when String then value.gsub(@pattern, @paths)
    when Hash then value.transform_values { |one| moved(one) }
    when Array then value.map { |one| moved(one) }
    else value
    end
  end
end
