# Healthy: uploads take a buffer of 4 MB from a pool and give it back. The pool makes up to 64 buffers, and a peak of uploads in the
# first seconds needs all of them.
#
# kind: steady
# also: bloat
# settles: 12
require_relative "../load"

class BufferPool
  def initialize(size) = (@free, @made, @size, @lock = Thread::Queue.new, 0, size, Mutex.new)

  def checkout
    @lock.synchronize { @free << ("\0".b * 4_194_304) if @free.empty? && @made < @size && @made += 1 }
    @free.pop
  end

  def checkin(buffer) = @free << buffer
end

POOL = BufferPool.new(64)
WORKERS = 72
JOBS = Thread::Queue.new
THREADS = Array.new(WORKERS) do
  Thread.new do
    while (number = JOBS.pop)
      buffer = POOL.checkout
      20.times do |i|
        part = "part #{i} of upload #{number} ".b * 700
        buffer.bytesplice(i * 100_000, part.bytesize, part)
        sleep 0.1
      end
      POOL.checkin(buffer)
    end
  end
end

Load.run(->(second) { second.between?(3, 8) ? 40 : 20 }) { |n| JOBS << n }
JOBS.close
THREADS.each(&:join)
