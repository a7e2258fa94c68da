# frozen_string_literal: true

require 'timeout'

# Snapshots, reports and files, let alone or broken off anywhere by Timeout or Thread#raise.
class Snapshots < Act
  Interruption = Class.new(StandardError)

  def self.about_the_sampler? = true

  def step
    @kept = Witness.new(__FILE__, __LINE__)
    case @random.rand(5)
    when 0 then save(@stage.look(@random))
    when 1 then broken_off { save(@stage.look(@random)) }
    when 2 then timed_out { @stage.look(@random) }
    when 3 then GC::SampleProfile.memory
    else report(@stage.look(@random))
    end
    sleep(@random.rand * 0.02)
  end

  private

  # What is under the final name is whole, or not there.
  def save(profile)
    return unless profile

    path = File.join(@stage.dir, "saved-#{Process.pid}-#{@random.rand(8)}#{%w[.pb.gz .pb].sample(random: @random)}")
    bytes = profile.save(path)
    same(bytes, File.size(path), "the size of #{File.basename(path)}")
  rescue Errno::ENOMEM
    raise if path.end_with?('.gz')      # others may not fit into the bound of own memory
  end

  def report(profile)
    return unless profile && @random.rand(8).zero?

    same(true, profile.report.to_s.start_with?('Heap sample of process '), 'a report')
  end

  def broken_off
    thread = Thread.new do
      Thread.current.report_on_exception = false
      yield
    end
    sleep(@random.rand * 0.005)
    thread.raise(Interruption)
    thread.join
  rescue Interruption
    nil
  end

  def timed_out(&)
    Timeout.timeout(@random.rand * 0.005 + 1e-6, &)
  rescue Timeout::Error
    nil
  end
end
