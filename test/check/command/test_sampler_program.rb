# frozen_string_literal: true

# Whether a process is of a Ruby with the sampler, by its program, which may mean no good.

require_relative "../../testing"
require_relative "command_helper"

class SamplerProgramTest < Test
  include CommandHelper

  def seconds
    began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    yield
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began
  end

  # What SamplerProgram says of a process whose folder in /proc is +dir+; within seconds, or :hangs.
  # What hangs, hangs for good; a busy machine takes some seconds.
  def program_of(dir, within: 30)
    thread = Thread.new { HeapSample::SamplerProgram.of?(dir) }
    thread.join(within) ? thread.value : :hangs
  ensure
    thread.kill
  end

  test "an executable is read up to a limit, and only if it is a plain file" do
    folder do |dir|
      exe = File.join(dir, "exe")
      write(File.join(dir, "maps"), "")
      write(exe, "#{"x" * 3_000_000}heap-sample/1 ok")
      assert_equal(true, program_of(dir))
      write(exe, "#{"x" * ((1 << 20) - 5)}heap-sample/1 ok")      # across two pieces
      assert_equal(true, program_of(dir))
      write(exe, "x")
      File.truncate(exe, 1 << 42)
      assert_equal(false, program_of(dir))
      File.unlink(exe)
      File.symlink("/dev/zero", exe)
      assert_equal(false, program_of(dir))
      File.unlink(exe)
      File.mkfifo(exe)
      assert_equal(false, program_of(dir))
    end
  end

  test "so is a libruby, which is found by its line in maps" do
    folder do |dir|
      write(File.join(dir, "exe"), "x")
      library = File.join(dir, "root/lib/libruby.so.3.4")
      FileUtils.mkdir_p(File.dirname(library))
      write(File.join(dir, "maps"), "7f0000000000-7f0000001000 r--p 00000000 fe:00 11 /lib/other.so\n7f5491383000-7f5491384000 r--p 00000000 fe:00 12 /lib/libruby.so.3.4\n")
      write(library, "heap-sample/1 ok")
      assert_equal(true, program_of(dir))
      [-> { File.mkfifo(library) }, -> { File.symlink("/dev/zero", library) }, -> { File.mkfifo("#{library}\n") }].each do |make|
        FileUtils.rm_f(library)
        make.call
        assert_equal(false, program_of(dir))
      end
      write(File.join(dir, "maps"), Array.new(50_000) { |i| "7f0000000000-7f0000001000 r--p 00000000 fe:00 11 /lib/libruby#{i}.so\n" }.join * 5)
      assert_equal(false, program_of(dir))
    end
  end

  test "of one user so much is read, and no more", missing: ("not root" unless Process.euid.zero?) do
    folder do |dir|
      took = seconds do
        40.times do |i|
          one = File.join(dir, i.to_s)
          Dir.mkdir(one)
          write(File.join(one, "maps"), "")
          write(File.join(one, "exe"), "x")
          File.truncate(File.join(one, "exe"), 1 << 30)
          File.chown(65_534, nil, one)
          assert_equal(false, program_of(one, within: 20))
        end
      end
      assert(took < 10, took.to_s)
      write(File.join(dir, "maps"), "")
      write(File.join(dir, "exe"), "heap-sample/1 ok")
      assert_equal(true, program_of(dir))
    end
  end
end
