# frozen_string_literal: true

require "heapsample/tool"
require "fileutils"
require "io/console"
require "json"
require "open3"
require "pty"
require "tmpdir"
require "zlib"
require_relative "../library/builds"
require_relative "../library/pprof_encoder"

# All of it is loaded here, once, for the copies of this process that run commands.
[HeapSample, HeapSample::Tool].each { |library| library.constants.each { |name| library.const_get(name) } }

# Runs the command as a user does; for classes of tests.
module CommandHelper
  include Builds

  EXE = File.expand_path("../../../src/libexec/heapsample", __dir__)
  # Where the HTML view's template is, below -I, and where it is built.
  TEMPLATE = "heapsample/viewer.html"
  BUILT = File.expand_path("../../../build/viewer/viewer.html", __dir__)
  # The Ruby with the sampler, whose processes are profiled; the Ruby that runs the command and these tests; Debian's.
  OURS = ENV["RUBY"] || RbConfig.ruby
  READER = RbConfig.ruby
  DEBIAN = "/usr/bin/ruby"
  NO_DEBIAN = ("no /usr/bin/ruby: run tool/deps test" unless File.executable?(DEBIAN))
  CLEAN = {"RUBYOPT" => nil, "RUBYLIB" => nil, "RUBY_HEAP_SAMPLE" => nil, "NO_COLOR" => nil}.freeze

  Result = Struct.new(:out, :err, :status)

  # Output, errors and exit status; warnings of Ruby count as errors.
  def heapsample(*arguments, env: {}, stdin_data: "", **limits)
    return Result.new(*run_copy(arguments, stdin_data)) if env.empty? && limits.empty?

    out, err, status = Open3.capture3({**CLEAN, **env}, READER, "-w", "--disable=gems", EXE, *arguments, stdin_data: stdin_data, **limits)
    Result.new(out.force_encoding("UTF-8"), err.force_encoding("UTF-8"), code_of(status))
  end

  # What it prints if all goes well.
  def printed(*arguments, **options)
    result = heapsample(*arguments, **options)
    assert(result.status.zero? && result.err.empty?, "#{arguments.join(" ")}: status #{result.status}\n#{result.err}")
    result.out
  end

  # One line, which names the tool.
  def fails(status, pattern, *arguments, **options)
    result = heapsample(*arguments, **options)
    assert_equal [status, ""], [result.status, result.out], result.err
    one_line = result.err.start_with?("heapsample: ") && result.err.count("\n") == 1
    assert(one_line && result.err.match?(pattern), "error is #{result.err.inspect}, not #{pattern.inspect}")
    result
  end

  # What stands on a terminal in the end, without the progress that is shown after a second; $? is how it ended.
  def on_terminal(*arguments, columns: 100, env: {})
    PTY.open do |terminal, tty|
      tty.winsize = [40, columns]
      pid = copy(arguments, env: {"TERM" => "xterm", **env}, out: tty, err: tty)
      tty.close
      text = +""
      begin
        loop { text << terminal.readpartial(4096) }
      rescue EOFError, Errno::EIO
        nil
      end
      Process.wait(pid)
      text.force_encoding("UTF-8").gsub("\r\n", "\n").gsub(/[^\n]*\r\e\[K/, "")
    end
  end

  # A folder of this test's own.
  def dir = @dir ||= Dir.mktmpdir("heapsample-test-")

  def teardown
    super
    FileUtils.rm_rf(@dir) if @dir
  end

  def folder(&block) = Dir.mktmpdir("heapsample-test-", &block)

  # Why a test of the page cannot run.
  NO_PAGE = ("the page is not built: run tool/viewer" unless File.exist?(BUILT))

  # The environment in which any Ruby finds the page's template, which is below DIR then.
  def with_view(dir)
    FileUtils.mkdir_p(File.join(dir, "view", File.dirname(TEMPLATE)))
    FileUtils.cp(BUILT, File.join(dir, "view", TEMPLATE))
    {"RUBYLIB" => File.join(dir, "view")}
  end

  def write(path, bytes) = File.binwrite(path, bytes) && path

  private

  def code_of(status) = status.exitstatus || 128 + status.termsig

  # The command in a copy of this process, which has loaded it: a new Ruby takes several times as long.
  def copy(arguments, env: {}, unused: nil, **streams)
    fork do
      unused&.close
      ENV.update({**CLEAN, **env})
      {in: $stdin, out: $stdout, err: $stderr}.each { |name, stream| stream.reopen(streams[name]) if streams[name] }
      ARGV.replace(arguments.map(&:dup))
      $VERBOSE = true
      load EXE
    rescue SystemExit => e
      $stdout.flush
      exit!(e.status)
    rescue SignalException => e
      trap(e.signo, "DEFAULT")
      Process.kill(e.signo, Process.pid)
    rescue Exception => e       # as Ruby does at its end # rubocop:disable Lint/RescueException
      $stderr.puts e.full_message(highlight: false)
      exit!(1)
    end
  end

  # What the copy prints, and its exit status.
  def run_copy(arguments, input)
    stdin, feed = IO.pipe
    pipes = Array.new(2) { IO.pipe }
    pid = copy(arguments, in: stdin, out: pipes[0][1], err: pipes[1][1], unused: feed)
    [stdin, *pipes.map(&:last)].each(&:close)
    readers = pipes.map { |reader, _| Thread.new { reader.read.force_encoding("UTF-8").tap { reader.close } } }
    feed.binmode.write(input) rescue Errno::EPIPE
    feed.close
    [*readers.map(&:value), code_of(Process.wait2(pid).last)]
  end
end
