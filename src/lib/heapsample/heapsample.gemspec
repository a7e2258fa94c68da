# frozen_string_literal: true

# The Ruby with the sampler has this gem by default: Ruby's installation makes one of each gemspec below lib/, with the
# executables in libexec/. For other Rubies tool/gem builds the gem, and puts this file at its root.
version = %w[version.rb lib/heapsample/version.rb].map { |path| File.join(__dir__, path) }.find { |path| File.file?(path) }

Gem::Specification.new do |spec|
  spec.name = "heapsample"
  spec.version = File.read(version)[/VERSION = "(.*)"/, 1]
  spec.summary = "Reads heap profiles of Ruby: what is alive, where it was allocated, what leaks, with the error of every figure"
  spec.description = "The library and the command of the sampling heap profiler for Ruby. " \
                     "Profiles come from production; this gem reads them on any Ruby."
  spec.authors = ["The heap sampler's authors"]
  spec.license = "BSD-2-Clause"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir["{exe,lib}/**/*", "README.md", "LICENSE", base: __dir__].select { |path| File.file?(File.join(__dir__, path)) }
  spec.bindir = "exe"
  spec.executables = ["heapsample"]
  spec.metadata = {"rubygems_mfa_required" => "true"}
end
