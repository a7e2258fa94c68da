# frozen_string_literal: true

# Does sig/ describe the code? As TAP: rbs accepts it; each class has the methods that the code has, no more and no less; and
# real calls fit the types (typed.rb). RUBY's own rbs is used, so no gem is fetched.
# Usage: ruby signatures.rb LIBRARY SIG FOLDER

require "fileutils"
require "open3"
require "rbs"
require "heapsample/sample_profile"
require "heapsample/assertions"
require_relative "../../tap"

library, sig, folder = ARGV.map { |path| File.expand_path(path) }
HERE = __dir__

# What is wrong, if anything: at most 40 lines.
def none(name, wrong) = Tap.report(wrong.empty?, name, wrong.first(40))

TARGET = "GC::SampleProfile,GC::SampleProfile::*,HeapSample,HeapSample::*"

# Runs exercise.rb with sig/: its lines, and whether it came to its end.
exercise = lambda do |signatures, *brief|
  out, status = Open3.capture2e({"RBS_TEST_TARGET" => TARGET, "RBS_TEST_OPT" => "-I #{signatures}", "RBS_TEST_LOGLEVEL" => "error",
                                 "RBS_TEST_SAMPLE_SIZE" => "20"},
                                RbConfig.ruby, "-I", library, "-r", "#{HERE}/typed.rb", "#{HERE}/exercise.rb", File.join(folder, "profiles"), *brief)
  lines = out.lines(chomp: true)
  [lines, status.success? && lines.include?("exercised")]
end

out, status = Open3.capture2e(RbConfig.ruby, Gem.bin_path("rbs", "rbs"), "-I", sig, "validate")
none("rbs validate accepts sig/", status.success? ? [] : out.lines(chomp: true))

loader = RBS::EnvironmentLoader.new
loader.add(path: Pathname(sig))
environment = RBS::Environment.from_loader(loader).resolve_type_names
builder = RBS::DefinitionBuilder.new(env: environment)
ours = environment.class_decls.select { |_, entry| entry.decls.any? { |one| one.decl.location.buffer.name.to_s.start_with?(sig) } }.keys
ours.reject! { |name| name.to_s == "::GC" || name.to_s == "::HeapSample" }

# Methods that sig/ itself gives a class, and those of the code: "#name" and ".name".
described = lambda do |name|
  own = ->(definition) { definition.methods.select { |_, one| one.accessibility == :public && one.defs.any? { |part| part.implemented_in == name } }.keys }
  own.(builder.build_instance(name)).map { |one| "##{one}" } + own.(builder.build_singleton(name)).map { |one| ".#{one}" } - [".new"]
end
MEMBERS = ->(klass) { klass < Struct ? klass.members.flat_map { |member| ["##{member}", "##{member}="] } : [] }
defined_in = lambda do |klass|
  instance = klass.public_instance_methods(false).map { |one| "##{one}" }
  instance << "#initialize" if klass.is_a?(Class) && klass.private_method_defined?(:initialize, false)
  # Struct.new(…) do … end puts readers into the class itself.
  (instance + MEMBERS.(klass) + klass.singleton_methods(false).map { |one| ".#{one}" }).uniq
end
# What Struct.new defines.
NOT_DESCRIBED = %w[.new .[] .members .keyword_init? .inspect].freeze

# Two classes are made when they are wanted.
GC::SampleProfile.prepare_labels
GC::SampleProfile.label_book {}
differences = ours.flat_map do |name|
  klass = Object.const_get(name.to_s)
  there = defined_in.(klass) - NOT_DESCRIBED
  said = described.(name)
  # A private or internal initialize need not be described, and `initialize` is inherited.
  missing = there - said - ["#initialize"]
  extra = (said - there).reject { |one| one == "#initialize" || klass < Struct }
  missing.map { |one| "#{klass}#{one} is not in sig/" } + extra.map { |one| "#{klass}#{one} is in sig/ and not in the code" }
end
# An analysis is what its class describes: sig/ must have it, whether or not a method there returns it.
analyses = HeapSample.constants.map { |name| HeapSample.const_get(name) }.grep(Class).select { |klass| klass < HeapSample::Analysis }.uniq
differences.concat((analyses.map { |klass| "::#{klass}" } - ours.map(&:to_s)).map { |name| "#{name.delete_prefix("::")}: the class is not in sig/" })
differences << "sig/ has #{ours.size} classes only" if ours.size < 30
none("each class in sig/ has the methods that the code has", differences)

lines, ended = exercise.(sig)
misfits = lines.grep(/\Amisfit: /)
none("real calls fit the types", ended ? misfits : lines.grep_v(/\Acalled: /).last(20))

called = lines.filter_map { |line| line[/\Acalled: (.*)/, 1] }
uncalled = ours.flat_map { |name| described.(name).map { |one| "#{name.to_s.delete_prefix("::")}#{one}" } }
# rbs/test does not watch those that it calls itself.
uncalled.reject! { |one| called.include?(one) || one.match?(/#(initialize|pretty_print|inspect|hash|eql\?|==)\z/) || Object.const_get(one[/[^#.]+/]) < Struct }
none("each method in sig/ was called", uncalled)

# The control: with one wrong type the same calls do not fit.
wrong = File.join(folder, "wrong")
FileUtils.rm_rf(wrong)
FileUtils.cp_r(sig, wrong)
Dir["#{wrong}/*.rbs"].each { |file| File.write(file, File.read(file).sub("def gc_count: () -> Integer?", "def gc_count: () -> String")) }
lines, = exercise.(wrong, "brief")
none("a wrong type is found", lines.any? { |line| line.start_with?("misfit: [HeapSample::Meta#gc_count]") } ? [] : lines.last(5))
Tap.finish
