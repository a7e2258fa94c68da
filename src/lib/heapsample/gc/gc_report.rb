# frozen_string_literal: true

module HeapSample
  # The GCs of a process over time, and what they cost.
  #
  #   puts HeapSample::GCReport.new(HeapSample::GCRecord.of(profile.info))
  class GCReport
    include Analysis

    TEXT = GCReportText
    ROWS = 20

    # The GCRecord; its GCCost; how many rows the table of single GCs has.
    attr_reader :record, :cost, :top

    def initialize(record, top: ROWS)
      Layout.check(top: top)
      @record = record
      @profile = record.profile
      @cost = GCCost.new(record)
      @top = top
    end

    # JSON-ready: times in seconds, not rounded; begin times as Unix time.
    def to_h(**)
      {process_id: record.process_id, title: record.title, ruby: record.ruby, missing: record.missing, cost: cost.to_h,
       gcs: record.entries.map { |entry| {**entry.to_h, time: entry.time.to_f} }}
    end
  end
end
