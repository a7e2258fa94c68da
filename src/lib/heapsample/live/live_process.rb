# frozen_string_literal: true

require "etc"
require "stringio"

module HeapSample
  # A running Ruby that can be asked: for a profile, its memory, its settings.
  #
  #   process = HeapSample::LiveProcess.new(4711)
  #   process.profile.top.to_s
  #   process.memory[:account][:rss]
  #
  # A process that was started with no setting opens its socket when it gets a signal; it is sent only where /proc shows that
  # it is handled.  The caller must be the user of the process, or root.  Root can ask a process in a container from outside, by the
  # process id outside.
  class LiveProcess
    Refused = LiveSocket::Refused
    # The same number in each libc: SIGRTMIN is not.
    SIGNAL = 45
    OPENS_WITHIN = 3.0
    # Bytes of /proc/PID/cmdline and environ that are read.
    TITLE_MOST = 4096
    ENVIRONMENT_MOST = 1 << 20
    # Inspects processes: tests have another.
    PROC = "/proc"

    # The process that +text+ names: a process id, or the path of a socket; nil if it names none.
    def self.named(text)
      return new(text.to_i) if text.match?(/\A[1-9]\d{0,9}\z/) && !File.exist?(text)

      new(nil, socket: text) if !text.empty? && File.socket?(text)
    end

    # All processes that this user can ask, or that handle the signal.
    def self.all
      Dir.children(PROC).grep(/\A\d+\z/).map(&:to_i).sort.filter_map do |pid|
        process = new(pid)
        process if process.ruby?
      end
    end

    attr_reader :pid

    def initialize(pid, socket: nil)
      @pid = pid
      @socket = socket
    end

    # "process 4711", or the path of its socket.
    def name = pid ? "process #{pid}" : @socket

    # Is it a Ruby with the heap sampler that can be asked?  It handles the signal; and its program shows it, where this user may look.
    # (Where not, one that handles the signals on both sides too is taken for one that handles all.)
    def ruby?
      caught = status[/^SigCgt:\s*(\h+)/, 1]&.to_i(16)
      return false unless caught && caught[SIGNAL - 1] == 1

      ours = SamplerProgram.of?("#{PROC}/#{pid}")
      ours.nil? ? caught[SIGNAL - 2] + caught[SIGNAL] < 2 : ours
    end

    # When it was started, a Time; nil if that is not known.
    def started
      boot = File.read("#{PROC}/stat")[/^btime (\d+)/, 1]
      Time.at(boot.to_i + start_time.to_i / Etc.sysconf(Etc::SC_CLK_TCK).to_f) if boot && pid
    rescue SystemCallError, NoMethodError
      nil
    end

    # Is its socket open, so that it is asked without a signal?
    def listens? = !listening.nil?

    # What the kernel knows of it, without asking it: process_id, parent_id, title, sampling (nil), foreign (does it belong to
    # another user? Then only that user and root may ask it), and an Account of its RSS and threads.
    def outline
      fields = status.scan(/^(PPid|VmRSS|Threads):\s*(\d+)/).to_h.transform_values(&:to_i)
      raise Refused, "#{name}: the process has ended" if fields.empty?

      account = Account.of({"rss" => fields.fetch("VmRSS", 0) << 10, "threads" => fields["Threads"]})
      {process_id: pid, parent_id: fields["PPid"], title: title, sampling: nil, foreign: foreign?, account: account, account_at_start: nil}
    end

    # What the process reports: process_id, parent_id, title, directory, host, deploy, ruby, sampling, interval,
    # interval_auto, every, malloc, and its Accounts of now and of when sampling started (nil where it does not sample): account, account_at_start.
    def hello = ask("hello")

    # Accounts as in #hello; alive: its threads and fibers, an Alive; gc: count, minor, major, ns (CPU time) and last_major_ns
    # of its GCs; heaps: slot_size, total_slots and live_slots of each heap; sampler: what the sampler holds and has cost.
    def memory = ask("memory")

    # A profile of now.  +diagnose+ is the share of the run time that may be forced on the process, such as "1%": a major GC
    # comes first, and a heap walk shows what retains memory, each if the share pays for it.  With +gc+ or +why+ the GC or the
    # walk must happen: the request waits until the share pays for it, or is refused.
    def profile(gc: false, why: false, diagnose: nil)
      Profile.load(StringIO.new(ask("profile", **{gc: (1 if gc), why: (1 if why), diagnose: diagnose}.compact)), name: name)
    rescue FormatError => e
      raise Refused, e.message
    end

    # The bytes of the answer to a verb of the protocol, unchecked: any program may have answered.
    def bytes(verb, **arguments) = through_socket { |socket| socket.bytes(verb, **arguments) }

    # Waits until the process ends.  true: it ended normally; false: it was killed, or called exit! or exec(2).  See LiveSocket#wait_for_end.
    def wait_for_end = through_socket(&:wait_for_end)

    # Starts to sample, or changes settings, the same as in RUBY_HEAP_SAMPLE. Returns #hello afterwards.
    def start(**settings) = ask("start", **settings)

    # Changes settings. Returns #hello afterwards. Raises Refused where it does not sample.
    def set(**settings) = ask("set", **settings)

    # Compacts the heap, if that stops Ruby code for +stop+ milliseconds at most by its size; without +stop+ nothing is done.  Returns #memory
    # afterwards, with more of heaps, and compaction: stop_estimate_ns, and if it was done ns, considered and moved.
    def compact(stop: nil) = ask("compact", **{stop: stop}.compact)

    # Ends sampling, and forgets all samples. Returns #hello afterwards.
    def stop = ask("stop")

    # The path of its socket; opened by the signal where there is none.
    def socket
      @socket ||= listening || open_socket
    end

    private

    def foreign?
      ![0, File.stat("#{PROC}/#{pid}").uid].include?(Process.euid)
    rescue SystemCallError
      false
    end

    def ask(verb, **arguments) = through_socket { |socket| socket.ask(verb, **arguments) }

    # A process that called exec(2) still has the socket file of the program before; the signal opens a new one.
    def through_socket
      yield LiveSocket.new(socket, name: name, pid: pid)
    rescue LiveSocket::Deserted
      raise if pid.nil? || @deserted

      @deserted = made(@socket)
      @socket = nil
      retry
    end

    # Identifies the file: another one may have the same path later.
    def made(path)
      File.stat(path).then { |file| [file.ino, file.ctime] }
    rescue SystemCallError
      []
    end

    def title
      first, *rest = File.binread("#{PROC}/#{pid}/cmdline", TITLE_MOST).to_s.split("\0")
      # With blanks it is a title that the program has given itself; else the path of the program.
      first = File.basename(first) if first && !first.include?(" ")
      [*first, *rest].join(" ").force_encoding(Encoding::UTF_8).scrub("?")
    rescue SystemCallError
      ""
    end

    def status
      File.read("#{PROC}/#{pid}/status")
    rescue SystemCallError
      ""
    end

    # Changes if another process gets the number, or if this process runs another program.
    def identity
      [start_time, status[/^Uid:.*/], *File.stat("#{PROC}/#{pid}/exe").then { |file| [file.dev, file.ino] }]
    rescue Errno::EACCES
      [start_time, status[/^Uid:.*/]]
    end

    def open_socket
      raise Refused, "#{name}: no such process" if status.empty?

      ProcessHandle.open(pid) { |handle| send_signal(handle) }
      path = wait_for_socket and return path
      raise Refused, "#{name}: the process has ended" if status.empty?

      raise Refused, "#{name}: it did not open its control socket within #{OPENS_WITHIN.to_i} s; check its stderr"
    rescue Errno::EPERM
      raise Refused, "#{name}: it belongs to another user; run this as that user or as root"
    rescue Errno::ENOSYS
      raise Refused, "#{name}: its control socket is closed, and this kernel has no pidfd (Linux 5.3); start it with RUBY_HEAP_SAMPLE=standby"
    rescue Errno::ESRCH, Errno::ENOENT
      raise Refused, "#{name}: the process has ended"
    end

    # Why it cannot be asked, where #ruby? is false.
    def missing
      folder = "#{PROC}/#{pid}"
      case SamplerProgram.of?(folder)
      when true then "this Ruby has the heap sampler, but no control socket; start it without socket=off"
      when nil then "not a Ruby with the heap sampler, or started with socket=off"
      else SamplerProgram.ruby?(folder) ? "a Ruby without the heap sampler" : "not a Ruby with the heap sampler"
      end
    end

    # Sends the signal only if process and program are still those that were checked.
    def send_signal(handle)
      seen = identity
      raise Refused, "#{name}: #{missing}" unless ruby?
      raise Errno::ESRCH unless identity == seen && handle.alive?

      handle.signal(SIGNAL)
    end

    def wait_for_socket
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + OPENS_WITHIN
      until (path = listening)
        return if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

        sleep 0.01
      end
      path
    end

    # In the process's own view of the file system, and with the number that it has in its own namespace.
    def listening
      own = status[/^NSpid:.*?(\d+)\s*$/, 1] || pid
      name = "#{own}-#{start_time}.sock"
      folders.map { |folder| File.join(folder, name) }.find { |path| File.socket?(path) && made(path) != @deserted }
    rescue SystemCallError
      nil
    end

    def start_time
      File.read("#{PROC}/#{pid}/stat")[/.*\)(.*)\z/m, 1].split[19]
    end

    def folders
      user = status[/^Uid:\s+\d+\s+(\d+)/, 1]
      [*environment, "/tmp"].uniq.map { |folder| File.join(root, folder, "ruby-heap-#{user}") }
    end

    # Ours is not below /proc/PID/root for another user than root.
    def root
      same = File.identical?("#{PROC}/#{pid}/root", "/")
      same ? "/" : "#{PROC}/#{pid}/root"
    rescue SystemCallError
      "/"
    end

    # As it was started.
    def environment
      variables = File.binread("#{PROC}/#{pid}/environ", ENVIRONMENT_MOST).to_s.split("\0")
      %w[XDG_RUNTIME_DIR TMPDIR].filter_map { |name| variables.find { |variable| variable.start_with?("#{name}=/") }&.split("=", 2)&.last }
    rescue SystemCallError
      []
    end
  end
end
