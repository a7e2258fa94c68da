# frozen_string_literal: true

require_relative "../../src/lib/heapsample/tool"

# The heap walks of one series, and the live memory at its end: from what the profiles say about themselves.
class SeriesWalks
  # Why the last walk that was refused was refused; nil if none was.
  attr_reader :refused
  # Bytes of live slots and of live malloc memory in the last profile of the largest process; nil if no profile could be read.
  attr_reader :live_bytes

  # `paths`: of the profiles. A profile that cannot be read is left out: the diagnosis reports it.
  def self.of(paths) = new(paths.filter_map { |path| meta(path) })

  def self.meta(path)
    HeapSample::PprofReader.read_meta(path)
  rescue HeapSample::FormatError, SystemCallError
    nil
  end

  # `metas`: Profile#meta of each profile, in the order of time.
  def initialize(metas)
    walks = metas.filter_map { |meta| meta["kept"] }
    @stops = walks.filter_map { |walk| walk["hold_up_ns"]&.fdiv(1e9) }
    @made = walks.any? { |walk| !walk["refused"] }
    @refused = walks.filter_map { |walk| walk["refused"] }.last
    @live_bytes = metas.group_by { |meta| meta["process_id"] }.values.filter_map { |process| live(process.last) }.max
  end

  def made? = @made

  # Seconds for which a walk stopped the program, at most.
  def longest_stop = @stops.max

  private

  # The resident memory where the allocator does not count.
  def live(meta)
    account = meta["account"] or return
    account["malloc_live"] ? account["slots_live"].to_i + account["malloc_live"] : account["rss"]
  end
end
