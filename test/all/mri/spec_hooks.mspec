# frozen_string_literal: true

# mspec's configuration for ruby/spec: MRI's own, and every example is recorded.

source = ENV.delete('MRI_SOURCE')
load File.expand_path('spec/default.mspec', source)
require_relative 'recorder'

# mspec calls these at its own events. An example goes by its file and its description; what is
# raised outside of any goes by the file.
class MRIRecorder::SpecHooks
  def initialize(folder)
    @folder = folder
  end

  def register
    %i[load before exception after].each { |event| MSpec.register(event, self) }
  end

  def load = @file = MSpec.file.delete_prefix(@folder)

  def before(example)
    @started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    @skips = MSpec.skips.size
    @message = nil
    MRIRecorder.start(name(example))
  end

  def exception(state)
    message = "#{state.message}\n#{state.backtrace}"
    if @started
      @message = [@message, message].compact.join("\n")
    else
      MRIRecorder.finish("#{@file} (outside of examples)", 'fail', 0, "#{state.description}\n#{message}")
    end
  end

  def after(example)
    status = if @message then 'fail'
             elsif MSpec.skips.size > @skips then 'skip'
             else 'pass'
             end
    MRIRecorder.finish(name(example), status, Process.clock_gettime(Process::CLOCK_MONOTONIC) - @started, @message.to_s)
    @started = nil
  end

  private

  def name(example) = "#{@file} #{example.description.gsub(/\s+/, ' ')}"
end

hooks = MRIRecorder::SpecHooks.new("#{source}/spec/ruby/")
MSpecScript.define_method(:custom_register) { hooks.register }
