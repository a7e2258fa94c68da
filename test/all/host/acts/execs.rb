# frozen_string_literal: true

# A child becomes another program; a shell, with and without descriptors of ours.
class Execs < Act
  def call
    File.open("kept", "w+") do |file|
      file.write("kept #{@number}")
      file.flush
      file.rewind
      first = in_child { exec("/bin/sh", "-c", "cat <&9; exit 3", 9 => file) }
      read, write = IO.pipe
      # The shell lists them itself: with a pipe it may still have one end of that.
      ending = ending_of(spawn("/bin/sh", "-c", "set -- /proc/self/fd/*; echo $#", out: write, close_others: true))
      write.close
      "#{first}; #{read.read.strip} descriptors, #{ending}".tap { read.close }
    end
  ensure
    File.unlink("kept")
  end
end
