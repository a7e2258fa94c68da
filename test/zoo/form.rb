# frozen_string_literal: true

require "rbconfig"

# How series are recorded: a profile every so many seconds, so many busy loops next to the programs, and for how long.
# Series of different forms are kept apart, in folders that have the form's name.
class Form
  attr_reader :every, :load

  # `seconds`: how long each program runs; nil: as its heading has it.
  def initialize(every:, load: 0, seconds: nil)
    @every = every
    @load = load
    @seconds = seconds
  end

  def name = ["every-#{every}", ("load-#{load}" if load.positive?), ("seconds-#{@seconds}" if @seconds)].compact.join("-")
  def seconds(header) = @seconds || header.seconds(every)

  # The exhibits that are recorded in this form: all at the usual interval, else those whose headings name the interval.
  def select(exhibits) = exhibits.select { |exhibit| exhibit.header.intervals.include?(every) }

  # The busy loops run while the block does. They end by themselves when this process is gone.
  def loaded
    loops = Array.new(load) do
      Process.spawn({ "RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => nil }, RbConfig.ruby, "--disable=gems", "-e", "1_000_000.times {} while Process.ppid == #{Process.pid}")
    end
    yield
  ensure
    loops&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
  end
end
