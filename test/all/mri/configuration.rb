# frozen_string_literal: true

# One way to run MRI's tests: the setting of the sampler, and options that every Ruby is started with.
# The options are the stock build's too: what they change by themselves is no difference.
Configuration = Struct.new(:name, :sampling, :rubyopt, :parts, :short) do
  def self.from(name, speed, parts, sampling, rubyopt)
    given = ->(value) { value unless value == '-' }
    new(name, given[sampling], given[rubyopt], parts.split(','), speed == 'short')
  end

  def covers?(part) = parts.any? { |pattern| File.fnmatch?(pattern, part.name) }

  # What the stock build is run with to compare with.
  def stock = self.class.new('stock', nil, rubyopt)

  # The same at an interval of everyday use.
  def at_64k
    dup.tap { |c| c.sampling = sampling.gsub(/\b(interval|malloc)=\d\w*/, '\1=64k') }
  end

  # What tests see of it; also what names the results.
  def environment = { 'RUBY_HEAP_SAMPLE' => sampling, 'RUBYOPT' => rubyopt }
end
