# frozen_string_literal: true

require "rbconfig"

# A program in a root of its own, with mounts and process ids of its own, as a container has them.  This checkout and the
# Ruby stand at the same paths in it; /tmp is its own.
class Contained
  TOP = File.expand_path("../../..", __dir__)
  ENTER = <<~'SH'
    set -e
    root=$1
    shift
    for folder in $FOLDERS; do
      mkdir -p "$root$folder"
      mount --bind "$folder" "$root$folder"
    done
    mount -t tmpfs none "$root/tmp"
    exec unshare --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" env -u FOLDERS -u TMPDIR -u XDG_RUNTIME_DIR "$@"
  SH

  def initialize(root)
    @root = root
  end

  # As Kernel#spawn.
  def spawn(env, *command, **options)
    folders = [TOP, File.dirname(RbConfig.ruby, 2)].map { |path| File.realpath(path) }.uniq.join(" ")
    @pid = Process.spawn({**env, "FOLDERS" => folders}, "unshare", "--mount", "sh", "-c", ENTER, "sh", @root, *command, **options)
  end

  # The processes in it, by the numbers outside.
  def all = children(@pid)

  # The number here of the process with this number there.
  def outside(number)
    all.find { |pid| numbers(pid).last == number && numbers(pid).size > 1 }
  end

  private

  def numbers(pid)
    File.read("/proc/#{pid}/status")[/^NSpid:(.*)$/, 1].split.map(&:to_i)
  rescue SystemCallError
    []
  end

  def children(pid)
    direct = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| File.read(path).split.map(&:to_i) }
    direct + direct.flat_map { |child| children(child) }
  rescue SystemCallError
    []
  end
end
