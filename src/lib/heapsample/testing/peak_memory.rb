# frozen_string_literal: true

module HeapSample
  # By how much a block raises the resident memory of the process at most.
  #
  #   HeapSample::PeakMemory.new { report.render }.bytes
  #
  # The kernel counts it (VmHWM, which is reset before), for all threads. Memory that the process has free already is used first, so
  # the figure is a lower bound of what the block needs. A full GC runs before.
  class PeakMemory
    REASON = "the peak of resident memory cannot be read here (/proc/self/clear_refs)"
    # Makes the kernel forget the peak so far.
    RESET = ["/proc/self/clear_refs", "5"].freeze

    # Bytes.
    attr_reader :bytes

    # Can it be measured?
    def self.possible?
      File.write(*RESET)
      true
    rescue SystemCallError
      false
    end

    def initialize(warmup: 0, &block)
      warmup.times { block.call }
      GC.start
      File.write(*RESET)
      before = status("VmRSS")
      block.call
      @bytes = [status("VmHWM") - before, 0].max
      @block = block
    end

    def more_than?(limit) = bytes > limit

    # For a person: three lines, and the stack that allocates most objects when the block runs once more.
    def message(limit, layout: Layout.new(root: Dir.pwd))
      ["The block needs #{layout.bytes(bytes)} more resident memory at its peak; at most #{layout.bytes(limit)} are allowed.",
       "Counted for the whole process, all threads.", *most(layout)].join("\n")
    end

    private

    def most(layout)
      return ["A Ruby with the heap sampler shows the line."] unless BlockRun.possible?

      Allocation.most(Allocation.profile(:all, @block), layout)
    rescue StandardError
      []
    end

    def status(name) = File.read("/proc/self/status")[/^#{name}:\s*(\d+)/, 1].to_i * 1024
  end
end
