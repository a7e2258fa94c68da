# frozen_string_literal: true

# A line of at-64k or not_compared: tests that do not hold in some configurations.
Listed = Struct.new(:pattern, :configurations) do
  def self.from(pattern, configurations, _reason) = new(Regexp.new(pattern), configurations.split(','))

  def covers?(configuration) = configurations.any? { |name| File.fnmatch?(name, configuration.name) }

  # What a file with such tests holds: the method's name, or the class's.
  def word = /#{pattern.source.delete_prefix('^').sub(/#\z/, '').sub(/.*#/, '')}/n
end
