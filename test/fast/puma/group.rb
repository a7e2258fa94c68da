# frozen_string_literal: true

# A memory cgroup of our own below the root, v2 or v1. A process is put there before it runs anything else.
class Group
  ROOTS = {
    v1: ["/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"],
    v2: ["/sys/fs/cgroup", "memory.max", "memory.events"],
  }.freeze

  # Why there can be none here; nil if there can.
  def self.missing
    root, limit, = controller
    return "no memory controller at hand" unless root
    # Who runs us may have set a limit: its processes are not taken out of it.
    return "this process has a limit of its own" if limited?(root, limit)

    with(1 << 30) { nil }
  rescue SystemCallError => e
    "no cgroup can be made: #{e.message}"
  end

  # Yields one of so many bytes.
  def self.with(bytes)
    root, limit, events = controller
    group = new("#{root}/heap-sampler-test-#{Process.pid}", events)
    group.limit(limit, bytes)
    yield group
  ensure
    group&.close
  end

  def self.controller = ROOTS.values.find { |folder, *| File.exist?("#{folder}/cgroup.procs") && controls?(folder) }

  def self.controls?(folder)
    !File.exist?("#{folder}/cgroup.controllers") || File.read("#{folder}/cgroup.subtree_control").split.include?("memory")
  end

  def self.limited?(root, limit)
    path = File.read("/proc/self/cgroup")[root.end_with?("memory") ? /^\d+:[^:]*\bmemory\b[^:]*:(.*)$/ : /^0::(.*)$/, 1].to_s
    total = File.read("/proc/meminfo")[/^MemTotal: +(\d+)/, 1].to_i * 1024
    loop do
      file = "#{root}#{path}/#{limit}"
      return true if File.exist?(file) && (bytes = Integer(File.read(file), exception: false)) && bytes < total
      return false if path.empty?

      path = path[0...path.rindex("/")]
    end
  end

  def initialize(folder, events)
    @folder = folder
    @events = events
  end

  def limit(file, bytes)
    Dir.mkdir(@folder)
    File.write("#{@folder}/#{file}", bytes.to_s)
  end

  # Starts a command in the group; its process id.
  def spawn(env, *command, **options)
    Process.spawn(env, "sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', @folder, *command, **options)
  end

  # How often the kernel has killed here.
  def kills = File.read("#{@folder}/#{@events}")[/^oom_kill (\d+)/, 1].to_i

  # As /proc/PID/cgroup has it.
  def path = "/#{File.basename(@folder)}"

  def pids = File.readlines("#{@folder}/cgroup.procs").map(&:to_i)

  # Whatever is in the group was started by us.
  def close
    return unless File.directory?(@folder)

    100.times do
      break if pids.empty?

      pids.each { |pid| Process.kill(:KILL, pid) rescue Errno::ESRCH }
      sleep 0.1
    end
    Dir.rmdir(@folder)
  end
end
