# frozen_string_literal: true

# A line of at-64k: tests that do not hold at interval=1.
Listed = Struct.new(:pattern, :configurations) do
  def self.from(pattern, configurations, _reason) = new(Regexp.new(pattern), configurations.split(','))

  def left_out_of?(configuration)
    configuration.sampling && configurations.any? { |name| File.fnmatch?(name, configuration.name) }
  end

  # What a file with such tests holds: the method's name, or the class's.
  def word = /#{pattern.source.delete_prefix('^').sub(/#\z/, '').sub(/.*#/, '')}/n
end
