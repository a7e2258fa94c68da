# frozen_string_literal: true

# The library as a gem: a default gem of the Ruby with the sampler (Ruby's own installation makes it one of each
# gemspec below lib/), and one that tool/heapsample builds for other Rubies, which read profiles.
version = %w[version.rb lib/heap_sample/version.rb].map { |path| File.join(__dir__, path) }.find { |path| File.file?(path) }

Gem::Specification.new do |spec|
  spec.name = "heap_sample"
  spec.version = File.read(version)[/VERSION = "(.*)"/, 1]
  spec.summary = "Reads heap profiles of Ruby: estimates with their intervals, growth, leaks, a page for a browser"
  spec.description = "The library of the sampling heap profiler for Ruby. It reads the profiles that a process wrote, on any Ruby."
  spec.authors = ["The heap sampler's authors"]
  spec.license = "BSD-2-Clause"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir["lib/**/*", "LICENSE", base: __dir__].select { |path| File.file?(File.join(__dir__, path)) }
  spec.metadata = {"rubygems_mfa_required" => "true"}
end
