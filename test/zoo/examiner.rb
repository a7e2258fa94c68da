# frozen_string_literal: true

require "etc"
require_relative "examination"

# Examines many series, in as many processes as there are processors.
class Examiner
  # `folders`: the folder of a series => its truth. In the order of these. The block: after how many profiles of a truth's series,
  # nil for every number of them.
  def self.examine(folders, jobs: Integer(ENV["TEST_JOBS"] || Etc.nprocessors), &counts)
    each_of(folders, jobs: jobs) { |folder, truth| Examination.new(truth, folder, counts: counts&.call(truth)) }
  end

  # What the block makes of each folder and its truth, in as many processes.
  def self.each_of(folders, jobs: Integer(ENV["TEST_JOBS"] || Etc.nprocessors))
    parts = Array.new(jobs) { |job| folders.to_a.each_with_index.select { |_, index| index % jobs == job } }
    done = parts.map { |part| Thread.new { elsewhere { part.map { |(folder, truth), index| [index, yield(folder, truth)] } } } }
    done.flat_map(&:value).sort_by(&:first).map(&:last)
  end

  # The value of the block, from another process.
  def self.elsewhere
    reader, writer = IO.pipe(binmode: true)
    pid = fork { reader.close; writer.write(Marshal.dump(yield)); writer.close; exit!(0) }
    writer.close
    text = reader.read
    Process.wait(pid)
    text.empty? ? raise("the process that examined ended: see what it said") : Marshal.load(text)
  end
end
