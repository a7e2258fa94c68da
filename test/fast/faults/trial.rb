# frozen_string_literal: true

require 'fileutils'
require 'open3'

# A program under a sampler that is in trouble, and all that may be said against how it went.
class Trial
  WROTE = /\Aheap-sample: wrote \S+ \(\d+ bytes, \d+ live samples\)\n\z/

  attr_reader :out, :status, :warnings

  def initialize(dir)
    @dir = dir
  end

  # Runs COMMAND with this environment; a hang ends it by SIGABRT, which no program here expects.
  def run(env, *command, **options)
    @out, errors, @status = Open3.capture3({ 'RUBYOPT' => nil, 'RUBY_HEAP_SAMPLE' => nil, **env },
                                           'timeout', '-s', 'ABRT', '-k', '5', '300', *command, **options)
    @warnings = errors.lines.grep_v(WROTE)
    self
  end

  # The trouble with it, in words: nil if there is none. `half`: a process may have ended (by exit!) while a thread of
  # the sampler's was writing.
  def trouble(out, exitstatus, half: false)
    return "ended by #{@status.inspect}: #{@warnings.first(3).join}" unless @status.exitstatus == exitstatus
    return "printed #{@out.inspect[0, 200]}" unless @out == out

    trouble_with_files(half)
  end

  # What stands under a profile's name is a whole profile that only its owner may read; nothing is left half done.
  def trouble_with_files(half)
    Dir.children(@dir).sort.each do |name|
      path = "#{@dir}/#{name}"
      return "#{name} is left over" if name.end_with?('.tmp') && !half
      next unless name.end_with?('.pb.gz', '.pb', '.json', '.folded') && File.file?(path)

      mode = File.stat(path).mode & 0o7777
      return format('%s has mode %o', name, mode) unless mode == 0o600

      whole(path)
    rescue StandardError => e
      return "#{name} is no whole profile: #{e.message}"
    end
    nil
  end

  private

  def whole(path)
    case path
    when /\.pb(\.gz)?\z/ then GC::SampleProfile.load(path)
    when /\.json\z/ then raise 'it ends early' unless File.read(path).rstrip.end_with?('}')
    else raise 'its last line is cut' unless File.read(path).match?(/\A(.+ \d+\n)*\z/)
    end
  end
end
