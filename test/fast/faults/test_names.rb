# frozen_string_literal: true

# Each profile has a name of its own, whatever stands there: containers share a folder and have the same process ids,
# another user plants FIFOs and links.

require_relative 'faults'

class NamesTest < FaultsTest
  OUT = "#{SCRATCH}/names".freeze
  MARK = /-\h{16}(?=(?:-at-rss)?\.pb\z)/

  def folder
    FileUtils.rm_rf(OUT)
    FileUtils.mkdir_p(OUT)
    File.chmod(0o1777, OUT)
    yield OUT
  end

  def files(dir) = Dir.children(dir).sort

  # What it printed on stderr.
  def sampled(settings, script, *arguments, wrapper: [])
    out, err, status = Open3.capture3({ 'RUBYOPT' => nil, 'RUBY_HEAP_SAMPLE' => nil }, 'timeout', '300', *wrapper, RUBY, '--disable=gems', '-W0',
                                      "--heap-sample=interval=4k,#{settings}", '-e', "$kept = Array.new(2_000) { |i| [i.to_s] }; #{script}", *arguments)
    assert_equal(["done\n", 0], [out, status.exitstatus])
    err
  end

  def deploys(dir) = files(dir).map { |name| GC::SampleProfile.load("#{dir}/#{name}").meta["deploy"] }

  # The names that the process will have in the next seconds.
  PLANT = 'at = Time.now.utc; names = (0..12).map { |s| "%s/heap-%d-%s.pb" % [ARGV[0], $$, (at + s).strftime("%Y%m%dT%H%M%S")] };'

  test('a name of process id and time that is taken gets a mark, and what is there stays') do
    folder do |dir|
      err = sampled("output=#{dir}/heap-%p-%t.pb", "#{PLANT} names.each { |name| File.write(name, 'older') }; puts 'done'", dir)
      marked, others = files(dir).partition { |name| name.match?(MARK) }
      assert_equal([1, 13, true], [marked.size, others.size, others.all? { |name| File.read("#{dir}/#{name}") == 'older' }])
      assert_equal(marked[0][/\h{16}(?=\.pb)/], GC::SampleProfile.load("#{dir}/#{marked[0]}").meta["process_start"])
      assert(err.include?("wrote #{dir}/#{marked[0]} "), err)
    end
  end

  test('a name of the process id alone is written over by its own process only') do
    folder do |dir|
      script = <<~'RUBY'
        dir = ARGV[0]
        File.write("#{dir}/#{$$}.pb", "older")
        sleep 0.02 until (marked = Dir.glob("#{dir}/#{$$}-*.pb")).any?
        first = File.stat(marked[0]).ino
        sleep 0.02 until File.stat(marked[0]).ino != first
        child = fork { exit }
        Process.wait(child)
        puts "done"
      RUBY
      sampled("every=1,output=#{dir}/%p.pb", script, dir)
      marked, plain = files(dir).partition { |name| name.match?(MARK) }
      assert_equal([1, 2], [marked.size, plain.size])        # the older one, and the child's
      assert_equal(1, plain.count { |name| File.read("#{dir}/#{name}") == 'older' })
    end
  end

  test('keep= deletes only what its own process wrote') do
    folder do |dir|
      script = <<~'RUBY'
        dir = ARGV[0]
        seen = []
        until seen.size >= 5
          sleep 0.02
          fresh = Dir.children(dir) - seen - ["swapped"]
          fresh.select { |name| name.end_with?(".pb") }.each do |name|
            seen << name
            next if seen.size > 1
            File.rename("#{dir}/#{name}", "#{dir}/swapped")     # another process has its name now
            File.write("#{dir}/#{name}", "another's")
            $first = name
          end
        end
        puts "done"
        $stdout.flush
        exit!(0) if File.read("#{dir}/#{$first}") == "another's"
      RUBY
      sampled("every=1,keep=2,output=#{dir}/%t.pb", script, dir)
      assert_equal(1, files(dir).count { |name| File.size("#{dir}/#{name}") == 9 })
      assert(files(dir).size.between?(4, 5), files(dir).inspect)      # these two, two kept, and perhaps one being made
    end
  end

  test('a fixed name is replaced by each process of this user; at-rss and children have names of their own') do
    folder do |dir|
      at_rss = "Dir.glob('#{dir}/x*-at-rss*')"
      first = 2.times.map do
        sampled("at-rss=1m,quiet,output=#{dir}/x.pb", "before = #{at_rss}; sleep 0.02 until (#{at_rss} - before).any?; Process.wait(fork { exit }); puts 'done'")
        files(dir)
      end
      assert(first[0].include?('x.pb') && first[0].include?('x-at-rss.pb'), first.inspect)
      assert_equal(1, first[1].grep(/\Ax\.pb\z/).size)
      assert_equal(2, first[1].grep(/at-rss\.pb\z/).size)
      assert_equal(2, first[1].grep(/\Ax\.\d+\.pb\z/).size)
      assert_equal(1, first[1].grep(MARK).size)
    end
  end

  test('two containers with the same process id that share a folder: no profile is lost', missing: NOT_ROOT) do
    folder do |dir|
      threads = %w[A B].map do |deploy|
        Thread.new do
          sampled("every=1,keep=60,socket=off,deploy=#{deploy},output=#{dir}/heap-%p-%t.pb", "sleep 9; puts 'done'",
                  wrapper: %w[unshare --pid --fork --mount-proc])
        end
      end
      said = threads.map { |thread| thread.value[/wrote (\S+)/, 1] }
      counts = deploys(dir).tally
      assert(counts.values.min >= 3 && counts.size == 2, counts.inspect)
      assert_equal(2, said.uniq.size)
      assert_equal([1], files(dir).map { |name| name[/\d+/].to_i }.uniq)
    end
  end

  # The attacker reads what is written into a FIFO.
  ATTACK = <<~'RUBY'
    pid, dir = ARGV
    paths = (0..15).map { |s| "#{dir}/heap-#{pid}-#{(Time.now.utc + s).strftime("%Y%m%dT%H%M%S")}.pb" }
    ios = paths.map { |path| File.mkfifo(path, 0666); File.chmod(0666, path); File.open(path, File::RDWR | File::NONBLOCK) }
    puts "planted"
    $stdout.flush
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    until IO.select([$stdin], nil, nil, 0) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      ready, = IO.select(ios, nil, nil, 0.2)
      ready&.each { |io| puts "reads #{io.read_nonblock(1 << 20).bytesize}" }
    end
  RUBY

  test('another user plants FIFOs under the names of the next profiles: nothing is written into them', missing: NOT_ROOT) do
    folder do |dir|
      script = <<~RUBY
        attacker = IO.popen(%w[setpriv --reuid 65534 --regid 65534 --clear-groups] + [#{RUBY.dump}, "--disable=gems", "-e", ARGV[1], $$.to_s, ARGV[0]], "r+")
        exit!(7) unless attacker.gets == "planted\\n"
        sleep 6.2               # for three profiles, also on a busy machine
        attacker.puts
        attacker.close_write
        print attacker.read
        puts "done"
      RUBY
      sampled("every=1,output=#{dir}/heap-%p-%t.pb", script, dir, ATTACK)
      fifos, profiles = files(dir).partition { |name| File.pipe?("#{dir}/#{name}") }
      assert_equal(16, fifos.size)
      assert(profiles.size >= 3 && profiles.all? { |name| name.match?(MARK) && GC::SampleProfile.load("#{dir}/#{name}") }, profiles.inspect)
    end
  end

  test("another user's file, link or FIFO under a fixed name: it stays as it is, and the warning says so", missing: NOT_ROOT) do
    folder do |dir|
      path = "#{dir}/x.pb"
      [-> { File.write(path, 'theirs') }, -> { File.symlink('/dev/null', path) }, -> { File.mkfifo(path, 0o666) }].each do |plant|
        plant.call
        File.lchown(65_534, 65_534, path)
        before = File.lstat(path).ino
        err = sampled("output=#{path}", "puts 'done'")
        assert(err.match?(/\Aheap-sample: cannot write #{path}: the file belongs to another user(?:; sampling continues)?; fix the folder, or set another output=\n\z/), err)
        assert_equal([before, 65_534], [File.lstat(path).ino, File.lstat(path).uid])
        assert_equal('theirs', File.read(path)) if File.lstat(path).file?
        File.unlink(path)
      end
    end
  end
end
