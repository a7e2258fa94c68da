# frozen_string_literal: true

# Signals from this process and from another, whose handlers allocate and look.
class Signals < Act
  def initialize(...)
    super
    @count = 0
    @handled = 0
    trap(:USR1) do
      @handled += 1
      @kept = Witness.new(__FILE__, __LINE__)
      @stage.look(@random) if @handled % 50 == 0
    end
    trap(:USR2) { GC.start(full_mark: false) }
  end

  def step
    sender = spawn('sh', '-c', "i=0; while [ $i -lt 50 ]; do kill -USR1 #{Process.pid} || exit; i=$((i + 1)); done")
    20.times do
      Process.kill(@random.rand(5).zero? ? :USR2 : :USR1, Process.pid)
      Array.new(@random.rand(100)) { |i| i.to_s }
    end
    _, status = Process.wait2(sender)
    same(0, status.exitstatus, 'the status of who sends')
    @count += 1
  end

  def finish
    20.times { @handled.zero? && @count.positive? ? sleep(0.1) : break }
    same(true, @handled.positive?, 'some signal was handled') if @count.positive?
  end
end
