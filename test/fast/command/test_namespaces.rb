# frozen_string_literal: true

# From the host into a container: a root and process ids of its own, as a container has them.  The root is made of what
# this machine has, mounted where it is; /tmp, /proc and the numbers are its own.

require_relative "../../testing"
require_relative "../../check/command/command_helper"

class NamespacesTest < Test
  include CommandHelper

  IN_CONTAINER = <<~'SH'
    set -e
    root=$1 prefix=$2 script=$3
    mount -t tmpfs none "$root"
    mkdir -p "$root/proc" "$root/tmp" "$root/dev" "$root$prefix"
    for folder in bin lib lib64 usr etc; do
      if [ -L "/$folder" ]; then cp -P "/$folder" "$root/"; elif [ -d "/$folder" ]; then mkdir "$root/$folder"; mount --bind "/$folder" "$root/$folder"; fi
    done
    mount --bind "$prefix" "$root$prefix"
    cp "$script" "$root/app.rb"
    exec unshare --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" env -i $SETTING "$prefix/bin/ruby" --disable=gems /app.rb
  SH

  # The process id, on the host, of a Ruby in such a container.
  def contained(setting)
    folder do |dir|
      root = File.join(dir, "root")
      Dir.mkdir(root)
      script = write(File.join(dir, "app.rb"), "$0 = 'a contained program'\n$kept = Array.new(50_000) { Object.new }\n$stdout.puts($$) || $stdout.flush\nsleep\n")
      IO.popen([{"SETTING" => setting}, "unshare", "--mount", "sh", "-c", IN_CONTAINER, "sh", root, File.dirname(OURS, 2), script]) do |io|
        yield Integer(io.gets), children(io.pid).find { |pid| File.read("/proc/#{pid}/cmdline").start_with?("a contained program") }
      ensure
        Process.kill(:KILL, io.pid)
      end
    end
  end

  def children(pid)
    direct = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| (File.read(path) rescue "").split.map(&:to_i) }
    direct + direct.flat_map { |child| children(child) }
  end

  NO_NAMESPACE = ("this needs root, and mounts in a namespace of one's own" unless Process.euid.zero? &&
                                                                               system("unshare", "--mount", "--pid", "--fork", "sh", "-c", "mount -t tmpfs none /mnt", out: File::NULL, err: File::NULL))

  [["one that samples", "RUBY_HEAP_SAMPLE=interval=4k,output=none"], ["one that nobody prepared", "NOTHING=1"]].each do |what, setting|
    test "into a container: #{what}", missing: NO_NAMESPACE do
      contained(setting) do |inside, pid|
        assert(inside < 10 && inside != pid, [inside, pid].inspect)
        printed("start", pid.to_s, "interval=4k") if setting.start_with?("NOTHING")
        # Other processes of this machine may end meanwhile, which ps says on stderr.
        assert(heapsample("ps").out.lines.any? { |line| line.match?(/^\s*#{pid} .*a contained program/) })
        about = JSON.parse(heapsample("ps", "--json").out).find { |one| one["process_id"] == pid }
        assert_equal(true, about["sampling"])
        assert(printed("ps", pid.to_s).include?("live slots"))
        assert(printed("top", pid.to_s, "--by", "class", "--diagnose", "50%").include?("Object")) unless setting.start_with?("NOTHING")
        assert_equal([], Dir.glob("/tmp/ruby-heap-0/#{inside}-*.sock"))      # its /tmp is its own
      end
    end
  end
end
