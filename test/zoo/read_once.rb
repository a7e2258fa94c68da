# frozen_string_literal: true

require_relative "../../src/lib/heapsample/tool"

# Each profile of a series is read once, however many parts of the series are judged: reading is most of the work.
# The command reads them anew each time, so that a long series takes little memory.
module ReadOnce
  class << self
    # In the block.
    def during
      @read = {}
      yield
    ensure
      @read = nil
    end

    def of(path, *how)
      return yield unless @read

      @read[[File.realpath(path), *how]] ||= yield
    end
  end

  # Of what a series holds of a file +name+ is the path.
  def load(source, name: source, **options) = ReadOnce.of(name, :rows, options) { super }
  def read_meta(source, name: source) = ReadOnce.of(name, :meta) { super }
end

HeapSample::Profile.singleton_class.prepend(ReadOnce)
HeapSample::PprofReader.singleton_class.prepend(ReadOnce)
