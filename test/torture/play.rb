# frozen_string_literal: true

require 'fileutils'

# One run of a mix in a process of its own, and all that is to be said against it.
class Play
  HERE = __dir__
  GRACE = 60                    # seconds after its time is up in which a run has to end
  ENDS = %w[.pb.gz .pb .folded .json].freeze

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
    give_up = now + @seconds + GRACE
    sleep(0.05) until (done = Process.wait2(@pid, Process::WNOHANG)) || now > give_up
    hung unless done
    end_group
    status = done ? done[1] : Process.wait2(@pid)[1]
    complain("ended by #{status.inspect.sub(/pid \d+ /, '')}") unless status.success?
  end

  def end_group
    Process.kill(:KILL, -@pid)
  rescue Errno::ESRCH
    nil                         # nothing is left of it
  end

  def hung
    complain("had not ended #{GRACE} s after its time was up")
    system('gdb', '-p', @pid.to_s, '-batch', '-ex', 'thread apply all bt', in: File::NULL,
           out: "#{@dir}/backtrace", err: File::NULL)
  end

  def listen
    errors = File.read("#{@dir}/stderr").lines.grep_v(/\Aheap-sample: wrote /)
    complain('said on stderr:', *errors.first(12).map { |line| line.chomp[0, 200] }) unless errors.empty?
    said = File.read("#{@dir}/stdout").lines(chomp: true)
    complain('did not say that it was fine') unless said.last == 'fine'
    @summary = said[-2]
  end

  # Whole profiles and nothing else; a process that ended by exit! or exec may have been writing a periodic one.
  def look_at_files
    Dir.each_child("#{@dir}/files") do |name|
      path = "#{@dir}/files/#{name}"
      next if name.match?(/\A\.heap_sample-\d+-\h{16}\.tmp\z/)

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
