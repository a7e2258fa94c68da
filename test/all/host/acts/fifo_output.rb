# frozen_string_literal: true

# A program whose profile goes to a FIFO that is full, and that is not read, ends all the same.
class FifoOutput < Act
  def call
    File.mkfifo("fifo.pb")
    fifo = File.open("fifo.pb", File::RDWR | File::NONBLOCK)
    nil while fifo.write_nonblock("x" * 4096, exception: false) != :wait_writable
    # Where nothing is sampled there is no profile either.  No socket: the asker might stop it.
    settings = ENV["ASKED"] && "socket=off,output=#{Dir.pwd}/fifo.pb"
    ending_of(spawn({"RUBY_HEAP_SAMPLE" => settings}, RbConfig.ruby, "--disable=gems", "-W0", "-e", "exit 5", err: File::NULL))
  ensure
    fifo.close
    File.unlink("fifo.pb")
  end
end
