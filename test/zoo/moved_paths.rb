# frozen_string_literal: true

require "heap_sample"

# A profile with other paths, and otherwise the same bytes: a recorded series should not name the folders of the machine it was
# recorded on.
#
#   MovedPaths.new("/home/me/zoo" => "/srv/zoo").call(File.binread("heap.pb"))
class MovedPaths
  STRING_TABLE = 6

  def initialize(paths)
    @paths = paths.sort_by { |from, _| -from.size }.to_h { |from, to| [from.b, to.b] }
    @pattern = Regexp.union(@paths.keys)
  end

  # The texts of a profile are one field each, which nothing else depends on the length of.
  def call(profile)
    out = "".b
    done = 0
    cursor = HeapSample::Protobuf.new(profile)
    cursor.each_field do |number, from, to|
      if number == STRING_TABLE && to && profile.byteslice(from, to - from).match?(@pattern)
        out << profile.byteslice(done, field_start(from, to) - done) << field(profile.byteslice(from, to - from))
        done = to
      end
    end
    out << profile.byteslice(done..)
  end

  private

  # Before a field's bytes are its tag, one byte here, and its length.
  def field_start(from, to) = from - HeapSample::Protobuf.encode(to - from).bytesize - 1

  def field(text)
    moved = text.gsub(@pattern, @paths)
    "".b << (STRING_TABLE << 3 | HeapSample::Protobuf::BYTES) << HeapSample::Protobuf.encode(moved.bytesize) << moved
  end
end
