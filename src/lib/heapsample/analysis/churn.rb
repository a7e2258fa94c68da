# frozen_string_literal: true

module HeapSample
  # What was allocated since sampling started and how much of it was freed: which
  # code makes garbage, and how long that lives.
  #
  #   profile.churn(by: :method).first.group.freed_share   #=> 0.946
  #
  # Slots and blocks of malloc count alike: a slot is freed when a GC has found that it is garbage, a
  # block when it is freed.
  class Churn
    include Enumerable
    include Analysis

    TEXT = ChurnText

    # The HeapSample::Top by what was allocated, and the Group of all rows.
    attr_reader :profile, :top, :all

    # The arguments of Top.new but +value+.
    def initialize(profile, by: :line, kind: :both, top: Top::ROWS)
      @profile = profile
      @top = Top.new(profile, by: by, value: :alloc_space, kind: kind, top: top)
      @all = profile.groups(by, kind: kind).total
    end

    # Yields HeapSample::Top::Entry, the largest allocators first.
    def each(&block)
      @top.each(&block)
    end

    # All that was allocated: a HeapSample::Estimate.
    def total = all.alloc

    # Part of it that was freed, by bytes, and its 95% interval; nil if nothing was
    # allocated.
    def freed_share = all.freed_share
    # The 95% interval of #freed_share.
    def freed_interval = all.freed_interval

    # Bytes a second since sampling started; nil if it is not known.
    def rate
      taken, started = @profile.info.taken, @profile.info.started
      total.space / (taken - started) if taken && started && taken > started
    end

    # As Top#to_h, with what was freed.
    def to_h(stacks: false)
      {**@top.to_h(stacks: stacks), freed_share: freed_share, freed_share_interval: freed_interval, lived_gcs: all.lifetime,
       bytes_per_second: rate}.compact
    end
  end
end
