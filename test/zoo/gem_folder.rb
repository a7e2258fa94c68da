# frozen_string_literal: true

# The folder of gems that the programs use, below build/zoo: each in the versions that the headings name.
class GemFolder
  attr_reader :path

  def initialize(path, ruby:)
    @path = path
    @ruby = ruby
  end

  # Installs what is missing; raises where it cannot.
  def install(exhibits)
    exhibits.flat_map { |exhibit| exhibit.gems.to_a }.uniq.each do |name, version|
      next if there?(name, version)

      warn "installing #{name} #{version}"
      out = IO.popen([environment, @ruby, "-S", "gem", "install", "--no-document", "--install-dir", path, name, "-v", version, err: %i[child out]], &:read)
      raise "#{name} #{version} could not be installed:\n#{out}" unless there?(name, version)
    end
  end

  private

  def there?(name, version) = Dir[File.join(path, "specifications", "#{name}-#{version}{,-*}.gemspec")].any?
  def environment = { "GEM_HOME" => path, "RUBY_HEAP_SAMPLE" => nil, "RUBYOPT" => nil }
end
