# frozen_string_literal: true

# Programs that close all descriptors, or give some of them to other programs.
require_relative "guest"
require "fiddle"

# The system call close_range(2), from C, on all descriptors from 3 on but MRI's own, an epoll and an eventfd. Without these
# two, MRI itself hangs or crashes, with sampling or without it.
CLOSE_RANGE = Fiddle::Function.new(Fiddle.dlopen(nil)["syscall"], [Fiddle::TYPE_LONG] * 4, Fiddle::TYPE_LONG)
CLOSE_RANGE_NUMBER = 436          # on every architecture
EXECV = Fiddle::Function.new(Fiddle.dlopen(nil)["execv"], [Fiddle::TYPE_VOIDP] * 2, Fiddle::TYPE_INT)

def close_all
  own = Dir.children("/proc/self/fd").map(&:to_i).select { |number| number > 2 && (File.readlink("/proc/self/fd/#{number}").start_with?("anon_inode:") rescue false) }
  first = 3
  [*own.sort, 0xffff_ffff + 1].each do |number|
    CLOSE_RANGE.call(CLOSE_RANGE_NUMBER, first, number - 1, 0) if number > first
    first = number + 1
  end
end

def output(*command, **options)
  IO.pipe do |read, write|
    pid = spawn(*command, out: write, **options)
    write.close
    text = read.read.split.join(" ")
    Process.wait(pid)
    "#{text.inspect}, status #{$?.exitstatus}"
  end
end

LIST = "for n in /proc/$$/fd/*; do readlink $n; done >'#{FOLDER}/list'; sed 's/[0-9][0-9]*//g' '#{FOLDER}/list' | grep -v /proc | sort | uniq -c"

def spawns
  kept = File.open("#{FOLDER}/kept", "w+")
  kept.write("kept")
  kept.flush
  kept.rewind
  report "close_others: #{output("/bin/sh", "-c", LIST, close_others: true)}"
  report "fd => fd: #{output("/bin/sh", "-c", "cat <&9; #{LIST}", 9 => kept, kept => kept)}"
  kept.close
  report right_answers(4, 10), right_files(10)
end

# A child that becomes another program keeps only the descriptors of this one.
def children
  report "child: #{Process.wait2(fork { report(descriptors, right_answers(3, 10)) })[1].exitstatus}"
  report "exec: #{output("/bin/sh", "-c", LIST)}"
  # As C programs do between fork and exec.  The descriptors of MRI's timer thread close at exec: closed before, they can crash it.
  arguments = ["/bin/sh", "-c", "ls /proc/self/fd | wc -l >'#{FOLDER}/after-close'"].map { |text| Fiddle::Pointer[text] }
  child = fork do
    close_all
    EXECV.call(arguments.first, [*arguments.map(&:to_i), 0].pack("J*"))
  end
  report "close_range, then exec: #{Process.wait2(child)[1].exitstatus}, #{File.read("#{FOLDER}/after-close").strip} descriptors"
end

spawns
close_all
report "after close_range: #{descriptors}", right_answers(8, 40), right_files(10)
children
wait_for_answers("the program")
Process.daemon
report "after Process.daemon: #{descriptors}", right_answers(8, 40), right_files(10)
children
wait_for_answers("the daemon of Process.daemon")
close_all
report right_answers(8, 40)
children
wait_for_answers("the daemon that closed all descriptors")
finished
