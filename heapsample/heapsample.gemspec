# frozen_string_literal: true

require_relative "lib/heapsample/version"

# Built by tool/heapsample, as the library is that it depends on (src/lib of the repository).
Gem::Specification.new do |spec|
  spec.name = "heapsample"
  spec.version = HeapSample::Tool::VERSION
  spec.summary = "Reads heap profiles: what is alive, where it was allocated, what leaks, with the error of every figure"
  spec.description = "The command-line tool of the sampling heap profiler for Ruby. " \
                     "Profiles come from production, this reads them on any Ruby."
  spec.authors = ["The heap sampler's authors"]
  spec.license = "BSD-2-Clause"
  spec.required_ruby_version = ">= 3.1"
  spec.add_dependency "heap_sample", "~> #{HeapSample::Tool::LIBRARY}.0"
  spec.files = Dir["{exe,lib}/**/*", "README.md", "LICENSE", base: __dir__].select { |path| File.file?(File.join(__dir__, path)) }
  spec.bindir = "exe"
  spec.executables = ["heapsample"]
  spec.metadata = {"rubygems_mfa_required" => "true"}
end
