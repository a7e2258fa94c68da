# frozen_string_literal: true

require 'etc'
require 'fileutils'
require_relative 'hang'

# One run of a mix in a process of its own, and all that is to be said against it.
class Play
  HERE = __dir__
  # When its time is up a run has to end.  It hangs if in a minute it uses less than six seconds of a processor (a thread
  # that writes a profile each second uses two), and loops if it uses three minutes: on a busy machine the clock alone
  # says neither.
  MINUTE = 60
  IDLE = 6
  LOOPS = 180
  ENDS = %w[.pb.gz .pb .folded .json].freeze

  # Own memory has a bound: what is not compressed while it is made may not fit, with stacks of thousands of frames.
  EXPECTED = /\Aheap-sample: (?:wrote |a listener's function ended with |cannot write .*\.(?:json|folded|pb): Cannot allocate memory$)/

  # A session with a cap may follow an exact one, which left more than the bound allows: what does not fit is reported.
  GAPS = "heap-sample: the sampler has no memory; from now on profiles have gaps (GC::SampleProfile.stat counts them)\n"

  attr_reader :complaints, :summary

  # `sampled`: with the sampler on, and its files to check.
  def initialize(ruby, mix, seconds, dir, sampled:)
    @ruby = ruby
    @mix = mix
    @seconds = seconds
    @dir = dir
    @sampled = sampled
    @complaints = []
  end

  def run
    FileUtils.rm_rf(@dir)
    FileUtils.mkdir_p("#{@dir}/files")
    start
    begin
      wait
    ensure
      end_group
    end
    listen
    look_at_files if @sampled
    FileUtils.rm_rf(@dir) if fine?
    self
  end

  def fine? = @complaints.empty?

  # Did it not end?
  def hung? = !@hang.nil?

  def barrier_deadlock? = hung? && @hang.barrier_deadlock?

  private

  def start
    acts = @sampled ? @mix.acts : @mix.acts.reject(&:about_the_sampler?)
    arguments = [*@mix.options(@sampled && "#{@dir}/files"), "#{HERE}/child.rb", @mix.seed.to_s, @seconds.to_s,
                 "#{@dir}/files", acts.map(&:called).join(',')]
    # A group of its own: what it leaves behind is ended with it.
    @pid = spawn({ 'RUBYOPT' => nil, 'RUBY_HEAP_SAMPLE' => nil }, @ruby, *arguments, pgroup: true, chdir: @dir,
                 in: File::NULL, out: "#{@dir}/stdout", err: "#{@dir}/stderr")
  end

  def wait
    up = now + @seconds
    sleep(0.05) until (done = Process.wait2(@pid, Process::WNOHANG)) || now > up
    done ||= wait_for_end
    end_group
    status = done ? done[1] : Process.wait2(@pid)[1]
    complain("ended by #{status.inspect.sub(/pid \d+ /, '')}") unless status.success?
  end

  # nil if it did not.
  def wait_for_end
    first = last = cpu_seconds
    look = now + MINUTE
    until (done = Process.wait2(@pid, Process::WNOHANG))
      sleep(0.1)
      next if now < look

      used = cpu_seconds
      return hung("used #{(used - last).round(1)} s of a processor in a minute after its time was up") if used - last < IDLE
      return hung("used #{(used - first).round} s of a processor after its time was up") if used - first > LOOPS

      last, look = used, now + MINUTE
    end
    done
  end

  TICKS = Etc.sysconf(Etc::SC_CLK_TCK).to_f
  private_constant :TICKS

  # Of all processes of its group; those that have ended are in their parents' (fields of proc(5) after the name: 2 is
  # the group, 11 to 14 the times).
  def cpu_seconds
    Dir.glob('/proc/[0-9]*/stat').sum do |path|
      fields = File.read(path).rpartition(')').last.split
      fields[2].to_i == @pid ? fields[11, 4].sum(&:to_i) / TICKS : 0
    rescue SystemCallError
      0
    end
  end

  def end_group
    Process.kill(:KILL, -@pid)
  rescue Errno::ESRCH
    nil                         # nothing is left of it
  end

  def hung(how)
    @hang = Hang.new(@pid, "#{@dir}/backtrace")
    complain(how)
    nil
  end

  def listen
    errors = File.read("#{@dir}/stderr").lines.grep_v(EXPECTED)
    errors.delete(GAPS) if @mix.acts.include?(Sessions)
    complain('said on stderr:', *errors.first(12).map { |line| line.chomp[0, 200] }) unless errors.empty?
    said = File.read("#{@dir}/stdout").lines(chomp: true)
    complain('did not say that it was fine') unless said.last == 'fine'
    @summary = said[-2]
  end

  # Whole profiles and nothing else; a process that ended by exit! or exec may have been writing a periodic one.
  def look_at_files
    Dir.each_child("#{@dir}/files") do |name|
      path = "#{@dir}/files/#{name}"
      next if name.match?(/\A\.heapsample-\d+-\h{16}\.tmp\z/)

      complain("#{name} is no profile") unless ENDS.any? { |ending| name.end_with?(ending) }
      mode = File.stat(path).mode & 0o777
      complain(format('%s has mode %o', name, mode)) unless mode == 0o600
      GC::SampleProfile.load(path) if name.end_with?('.pb.gz', '.pb')
      complain("#{name} is empty") if File.empty?(path) && !name.end_with?('.folded')
    rescue StandardError => e
      complain("#{name} cannot be read: #{e.message}")
    end
  end

  def complain(*lines) = @complaints.concat(lines)

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
