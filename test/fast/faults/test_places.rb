# frozen_string_literal: true

# Profiles have nowhere to go: no folder, no right, no room, no descriptor, another user's FIFO or link. The program prints
# what it prints and ends as it ends, with one warning; nothing is half written, and nothing is written elsewhere.

require_relative 'faults'
require_relative 'trial'

class PlacesTest < FaultsTest
  OUT = "#{SCRATCH}/places".freeze
  KEEP = '$kept = Array.new(2_000) { |i| [i.to_s] };'
  ANSWER = 'puts "answer"; exit 4'

  # A fresh folder for profiles, and one next to it that must stay as it is.
  def folders
    FileUtils.rm_rf(OUT)
    FileUtils.mkdir_p(["#{OUT}/profiles", "#{OUT}/beside"])
    FileUtils.chmod(0o1777, ["#{OUT}/profiles"])
    File.write("#{OUT}/beside/victim.pb.gz", 'as it was')
    yield "#{OUT}/profiles"
    assert_equal(['victim.pb.gz'], Dir.children("#{OUT}/beside"))
    assert_equal('as it was', File.read("#{OUT}/beside/victim.pb.gz"))
  end

  # Runs it with these settings and this end of the script, in `wrapper`.
  def sampled(dir, settings, script = ANSWER, wrapper: [], **options)
    Trial.new(dir).run({}, *wrapper, RUBY, '--disable=gems', '-W0', "--heap-sample=interval=1k,#{settings}", '-e', KEEP + script,
                       **options)
  end

  def as_it_was(trial, *warnings)
    trouble = trial.trouble("answer\n", 4)
    flunk(trouble) if trouble
    assert_equal(warnings.map { |text| "heap-sample: #{text}\n" }, trial.warnings)
  end

  def cannot_write(path, why) = "cannot write #{path}: #{why}"
  # What can be seen before anything is written is reported at start.
  FIX = '; fix the folder, or set another output='
  def cannot_begin(path, why) = "#{cannot_write(path, why)}; sampling continues#{FIX}"
  def files(dir) = Dir.children(dir).sort

  # Another user, whose processes are only these.
  UNPRIVILEGED = %w[setpriv --reuid=54321 --regid=54321 --clear-groups].freeze
  # A mount table of its own: whatever `command` mounts there is gone with the process.
  def mounting(command) = ['unshare', '-m', 'sh', '-c', "#{command} && exec \"$@\"", 'sh']

  # Folders

  test('the folder cannot be made: one warning, however many profiles are due') do
    folders do |dir|
      path = '/proc/none/x.pb.gz'
      as_it_was(sampled(dir, "every=1,at-rss=1m,output=#{path}", "sleep 2.6; #{ANSWER}"), cannot_begin(path, 'No such file or directory'))
      assert_equal([], files(dir))
    end
  end

  test('the folder of output= is made, and those above it, of mode 0700') do
    folders do |dir|
      ['heaps/', 'heaps2/x.pb', 'a/b/c/%p/'].each do |output|
        as_it_was(sampled(dir, "output=#{dir}/#{output}", umask: 0))
      end
      assert_equal(%w[a heaps heaps2], files(dir))
      made = Dir.glob("#{dir}/**/*").select { |path| File.directory?(path) }
      assert_equal([6, [0o40700]], [made.size, made.map { |path| File.stat(path).mode }.uniq])
      assert_equal(3, Dir.glob("#{dir}/**/*.pb*").size)
    end
  end

  test('the folder of a forked child is made, too') do
    folders do |dir|
      as_it_was(sampled(dir, "output=#{dir}/%p/x.pb", "Process.wait(fork { $kept << 1 }); #{ANSWER}"))
      assert_equal([2, 2], [files(dir).size, Dir.glob("#{dir}/*/x.pb").size])
    end
  end

  test('the folder goes while the program runs: it is made again, or the warning says why not') do
    folders do |dir|
      path = "#{dir}/gone/x.pb.gz"
      as_it_was(sampled(dir, "output=#{path}", "Dir.rmdir('#{dir}/gone'); #{ANSWER}"))
      assert_equal(true, File.file?(path))
      FileUtils.rm_r("#{dir}/gone")
      as_it_was(sampled(dir, "output=#{path}", "Dir.rmdir('#{dir}/gone'); File.write('#{dir}/gone', ''); #{ANSWER}"),
                "#{cannot_write(path, 'Not a directory')}#{FIX}")
    end
  end

  test('a file stands where the folder should be') do
    folders do |dir|
      File.write("#{dir}/file", '')
      as_it_was(sampled(dir, "output=#{dir}/file/x.pb"), cannot_begin("#{dir}/file/x.pb", 'Not a directory'))
      as_it_was(sampled(dir, "output=#{dir}/file/y/x.pb"), cannot_begin("#{dir}/file/y/x.pb", 'Not a directory'))
    end
  end

  test('the folder is not ours to write in', missing: NOT_ROOT) do
    folders do |dir|
      File.write("#{dir}/x.pb.gz", 'older')
      File.chmod(0o600, "#{dir}/x.pb.gz")
      File.chmod(0o755, dir)
      trial = sampled(dir, "output=#{dir}/x.pb.gz", wrapper: UNPRIVILEGED)
      assert_equal([4, "answer\n"], [trial.status.exitstatus, trial.out])
      assert_equal(["heap-sample: #{cannot_begin("#{dir}/x.pb.gz", 'Permission denied')}\n"], trial.warnings)
      assert_equal(['older', ['x.pb.gz']], [File.read("#{dir}/x.pb.gz"), files(dir)])
    end
  end

  test('the file system is read-only', missing: NOT_ROOT) do
    folders do |dir|
      wrapper = mounting("mount -t tmpfs -o ro none #{dir}")
      as_it_was(sampled(dir, "output=#{dir}/x.pb.gz", wrapper: wrapper), cannot_begin("#{dir}/x.pb.gz", 'Read-only file system'))
    end
  end

  # Room

  # What is there when the process has ended is looked at inside: the mount goes with it.
  test('the disk is full: the profile written before stays, and nothing half', missing: NOT_ROOT) do
    folders do |dir|
      path = "#{dir}/x.pb"
      script = <<~RUBY
        GC.sample_profile.save("#{path}")
        before = File.binread("#{path}")
        File.open("#{dir}/filler", "w") { |f| loop { f.syswrite("x" * 4096) } } rescue $full = $!.class
        GC.sample_profile.save("#{dir}/y.pb") rescue $refused = $!.class
        at_exit { exit!(9) unless Dir.children("#{dir}").sort == %w[filler x.pb] && File.binread("#{path}") == before }
        exit!(8) unless $full == Errno::ENOSPC && $refused == Errno::ENOSPC
        fork { exit 4 }.then { |child| Process.wait(child) }
        exit!(7) unless Dir.children("#{dir}").sort == %w[filler x.pb] && File.binread("#{path}") == before
        #{ANSWER}
      RUBY
      trial = sampled(dir, "output=#{path}", script, wrapper: mounting("mount -t tmpfs -o size=512k none #{dir}"))
      assert_equal(["answer\n", 4], [trial.out, trial.status.exitstatus])
      assert_equal([true, true], [trial.warnings.size == 2, trial.warnings.all? { |line| line.end_with?("No space left on device; free some space, or set another output=\n") }])
    end
  end

  test('files may not grow so large (RLIMIT_FSIZE): no SIGXFSZ') do
    folders do |dir|
      wrapper = ['prlimit', '--fsize=1000']
      as_it_was(sampled(dir, "output=#{dir}/x.pb", wrapper: wrapper), cannot_write("#{dir}/x.pb", 'File too large'))
      assert_equal([], files(dir))
    end
  end

  test('no descriptor is left (RLIMIT_NOFILE)') do
    folders do |dir|
      script = "$open = []; begin; loop { $open << IO.sysopen('/dev/null') }; rescue Errno::EMFILE; end; #{ANSWER}"
      # The thread that writes the profile has descriptors of its own.
      as_it_was(sampled(dir, "output=#{dir}/x.pb.gz", script, wrapper: ['prlimit', '--nofile=64']))
      assert_equal(['x.pb.gz'], files(dir))
    end
  end

  test('no address space is left (RLIMIT_AS): the program gets its NoMemoryError, and its profile') do
    folders do |dir|
      script = 'begin; loop { $kept << "x" * 10_000_000 }; rescue NoMemoryError; $kept = nil; end; ' + ANSWER
      as_it_was(sampled(dir, "malloc=64k,every=1,output=#{dir}/x.pb.gz", script, wrapper: ['prlimit', "--as=#{2 << 30}"]))
      assert_equal(['x.pb.gz'], files(dir))
    end
  end

  # Ruby tries fork again, each second: another thread ends that.
  test('no process may be made (RLIMIT_NPROC): fork fails, sampling goes on', missing: NOT_ROOT) do
    folders do |dir|
      script = <<~RUBY
        main = Thread.current
        ender = Thread.new { sleep 0.01 until main.stop?; main.raise(Errno::EAGAIN) }
        limit = Process.getrlimit(:NPROC)
        Process.setrlimit(:NPROC, 1, limit[1])
        failed = begin fork { exit!(0) }; rescue Errno::EAGAIN; :failed; end
        Process.setrlimit(:NPROC, *limit)
        exit!(8) unless failed == :failed
        ender.join
        GC.start
        exit!(9) if GC.sample_profile.raw_samples.empty?
        #{ANSWER}
      RUBY
      as_it_was(sampled(dir, "output=#{dir}/x.pb.gz", script, wrapper: UNPRIVILEGED))
      assert_equal(['x.pb.gz'], files(dir))
    end
  end

  # What stands there already

  test('a folder stands there') do
    folders do |dir|
      Dir.mkdir("#{dir}/x.pb.gz")
      as_it_was(sampled(dir, "output=#{dir}/x.pb.gz"), cannot_begin("#{dir}/x.pb.gz", 'Is a directory'))
      assert_equal([], files("#{dir}/x.pb.gz"))
    end
  end

  test('a link of this user stands there: it is replaced, what it leads to stays') do
    folders do |dir|
      ["#{OUT}/beside/victim.pb.gz", "#{OUT}/beside/not_yet.pb.gz", '/dev/full'].each do |target|
        File.symlink(target, "#{dir}/x.pb.gz")
        as_it_was(sampled(dir, "output=#{dir}/x.pb.gz"))
        assert_equal([false, ['x.pb.gz']], [File.symlink?("#{dir}/x.pb.gz"), files(dir)])
        File.unlink("#{dir}/x.pb.gz")
      end
    end
  end

  test('a FIFO that no one reads holds nothing up') do
    folders do |dir|
      File.mkfifo("#{dir}/x.pb.gz")
      trial = sampled(dir, "every=1,output=#{dir}/x.pb.gz", "sleep 1.5; #{ANSWER}")
      assert_equal(["answer\n", 4], [trial.out, trial.status.exitstatus])
      assert_equal(["heap-sample: #{cannot_write("#{dir}/x.pb.gz", 'No such device or address')}#{FIX}\n"], trial.warnings)
      assert_equal(true, File.pipe?("#{dir}/x.pb.gz"))
    end
  end

  test('the reader of a FIFO goes away: no SIGPIPE') do
    folders do |dir|
      File.mkfifo("#{dir}/x.pb")
      # Larger than what a FIFO holds, so that the writer is still writing.
      script = "trap(:PIPE, 'SYSTEM_DEFAULT'); 300.times { |i| eval(%(def m\#{i}_\#{'x' * 500} = $kept << Object.new; m\#{i}_\#{'x' * 500})) }; #{ANSWER}"
      reader = Thread.new { File.open("#{dir}/x.pb") { |f| f.readpartial(1) } }
      trial = sampled(dir, "interval=1,output=#{dir}/x.pb", script)
      reader.join
      assert_equal(["answer\n", 4], [trial.out, trial.status.exitstatus])
      assert_equal(["heap-sample: #{cannot_write("#{dir}/x.pb", 'Broken pipe')}\n"], trial.warnings)
    end
  end

  test('a device stands there: it is written to and stays a device', missing: NOT_ROOT) do
    folders do |dir|
      system('mknod', "#{dir}/x.pb.gz", 'c', '1', '7', exception: true)           # as /dev/full
      trial = sampled(dir, "output=#{dir}/x.pb.gz")
      assert_equal(["answer\n", 4], [trial.out, trial.status.exitstatus])
      assert_equal(["heap-sample: #{cannot_write("#{dir}/x.pb.gz", 'No space left on device')}; free some space, or set another output=\n"], trial.warnings)
      assert_equal([true, ['x.pb.gz']], [File.chardev?("#{dir}/x.pb.gz"), files(dir)])
    end
  end

  test('files are their owner\'s alone, whatever the umask and whatever stood there') do
    folders do |dir|
      [0, 0o777].each do |umask|
        %w[x.pb.gz x.pb].each do |name|
          File.write("#{dir}/#{name}", 'older')
          File.chmod(0o666, "#{dir}/#{name}")
          as_it_was(sampled(dir, "output=#{dir}/#{name}", umask: umask))
        end
      end
    end
  end

  # Ways to end

  test('ended by SIGTERM: the profile is written, or the warning is said, and the signal is the status') do
    folders do |dir|
      ["#{dir}/x.pb.gz", '/proc/none/x.pb.gz'].each do |path|
        trial = sampled(dir, "output=#{path}", 'Process.kill(:TERM, $$); sleep', wrapper: ['sh', '-c', '"$@"; echo $?', 'sh'])
        assert_equal("#{128 + Signal.list['TERM']}\n", trial.out)
        assert_equal([], trial.warnings.grep_v(/\ATerminated\n\z|\Aheap-sample: cannot write .*: No such file or directory(;.*)?\n\z/))
      end
      assert_equal(['x.pb.gz'], files(dir))
    end
  end

  test('what Ruby code saves: the exception of the system, and no file') do
    folders do |dir|
      Dir.mkdir("#{dir}/folder.pb.gz")
      script = <<~RUBY
        profile = GC.sample_profile
        errors = ["#{dir}/none/x.pb", "#{dir}/folder.pb.gz", "/proc/x.pb"].map { |path| profile.save(path) rescue $!.class }
        exit!(9) unless errors[0, 2] == [Errno::ENOENT, Errno::EISDIR] && errors[2] <= SystemCallError
        #{ANSWER}
      RUBY
      as_it_was(sampled(dir, 'output=none', script))
      assert_equal(['folder.pb.gz'], files(dir))
    end
  end

  # Children of a process save its profile over and over, and are killed while they do: when the temporary file is seen,
  # or a little later. What stands under the name then has the length of the whole.
  KILLS = ENV['FAULTS'] == 'all' ? 200 : 40
  test("kill -9 while writing, #{KILLS} times: the name has the whole of a profile, or nothing") do
    folders do |dir|
      script = <<~'RUBY'
        dir = ARGV[0]
        1_000.times { |i| $kept << eval("def m#{i}(x) = [x, Object.new]; m#{i}(i)") }
        profile = GC.sample_profile
        sizes = %w[pb pb.gz].to_h { |ending| [ending, profile.save("#{dir}/whole.#{ending}")] }
        random = Random.new(1)
        midway = 0
        Integer(ARGV[1]).times do |i|
          ending = %w[pb pb.gz][i % 2]
          path = "#{dir}/x.#{ending}"
          child = fork { loop { profile.save(path); File.unlink(path) if random.rand(2).zero? } }
          Thread.pass until Dir.children(dir).any? { |name| name.end_with?(".tmp") }
          sleep(random.rand * 0.003) if random.rand(2).zero?
          Process.kill(:KILL, child)
          Process.wait(child)
          exit!(9) if File.exist?(path) && File.size(path) != sizes[ending]
          exit!(8) if Dir.children(dir).any? { |name| File.stat("#{dir}/#{name}").mode & 0o777 != 0o600 }
          left = Dir.glob("#{dir}/.heapsample-*.tmp")
          midway += 1 unless left.empty?
          left.each { |file| File.unlink(file) }
        end
        exit!(7) if midway < Integer(ARGV[1]) / 10     # then it was not while writing
        STDOUT.syswrite("answer #{midway}\n")
        exit!(4)
      RUBY
      trial = Trial.new(dir).run({}, RUBY, '--disable=gems', '-W0', '--heap-sample=interval=1,output=none', '-e', "$kept = []; #{script}", dir, KILLS.to_s)
      assert_equal([4, []], [trial.status.exitstatus, trial.warnings])
      puts "# #{trial.out[/\d+/]} of #{KILLS} left a temporary file"
    end
  end

  # What the sampler reads

  test('/proc is not there: profiles are written, and say what is missing', missing: NOT_ROOT) do
    folders do |dir|
      script = <<~RUBY
        sleep 0.02 until File.exist?(#{"#{dir}/x.pb.gz".dump})
        columns = GC::SampleProfile.raw_columns
        malloced = GC.sample_profile.raw[:rows].select { |row| row[columns[:malloc]] }
        exit!(9) if malloced.empty? && GC::SampleProfile.stat[:malloc] == :on
        exit!(8) unless GC::SampleProfile.memory[:rss].nil?
        #{ANSWER}
      RUBY
      wrapper = mounting('mount -t tmpfs none /proc')
      as_it_was(sampled(dir, "malloc=4k,every=1,at-rss=1g,output=#{dir}/x.pb.gz", script, wrapper: wrapper))
      assert_equal(['x.pb.gz'], files(dir))
    end
  end
end
