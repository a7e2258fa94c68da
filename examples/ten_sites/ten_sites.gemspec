# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "ten_sites"
  spec.version = "1.0.0"
  spec.summary = "Prints the ten lines that allocate the most, of any program"
  spec.authors = ["The heap-sampler authors"]
  spec.license = "BSD-2-Clause"
  spec.files = Dir["lib/**/*.rb", "ext/**/*.{c,rb}"]
  spec.extensions = ["ext/ten_sites/extconf.rb"]
  spec.required_ruby_version = ">= 3.0"
end
