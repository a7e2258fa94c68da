# frozen_string_literal: true

# fork from a thread while the others go on; the child works, samples, and ends in one way or another.
class Forks < Act
  # While Ractors come and go, a child of the unpatched 3.4.5 raises NoMemoryError when it comes to a GC, or hangs in
  # rb_ractor_atfork, where a Ractor's lock was held at the fork.
  def self.beside?(other) = other != Ractors

  # A child of the unpatched 3.4.5 hangs in rb_thread_atfork where another thread held its interrupt_lock at the fork,
  # as it does for a moment when it leaves or takes the GVL: 4 of some 40,000 forks next to three threads that sleep.
  STARTED = '.'
  START_SECONDS = 30

  def step
    children = Array.new(@random.rand(1..2)) { begin_child(@random.rand(1 << 30)) }
    children.each do |pid, seed, reader|
      started = reader.wait_readable(START_SECONDS)
      Process.kill(:KILL, pid) unless started
      text = reader.read.delete_prefix(STARTED)
      reader.close
      _, status = Process.wait2(pid)
      next unless started

      same([Forks.work(Random.new(seed)).to_s, 0], [text, status.exitstatus], "a child's answer and status (#{status})")
    end
  end

  def self.work(random)
    words = Array.new(500) { |i| "#{i}:#{random.rand(1000)}" }
    witness = Witness.new(__FILE__, __LINE__)
    words.group_by { |word| word[-1] }.sum { |letter, list| letter.ord * list.size } + witness.line
  end

  private

  def begin_child(seed)
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.syswrite(STARTED)
      random = Random.new(seed)
      answer = Forks.work(random)
      GC.start if random.rand(3).zero?
      GC.compact if random.rand(8).zero?
      @stage.look(random)
      writer.write(answer)
      writer.close
      fork { Forks.work(random) && exit!(0) }.then { |grandchild| Process.wait(grandchild) } if random.rand(4).zero?
      case random.rand(3)
      when 0 then exit!(0)
      when 1 then exec('true')
      end
    end
    writer.close
    [pid, seed, reader]
  end
end
