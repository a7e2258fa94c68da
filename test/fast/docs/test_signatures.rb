# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../../check/docs/docs"

# sig/ describes the code: rbs accepts it; each class has the methods that the code has, no more and no less; and real calls
# fit the types (typed.rb). Ruby's own rbs is used, so no gem is fetched.
class SignaturesTest < DocsTest
  SIG = File.join(TOP, "sig")
  TARGET = "GC::SampleProfile,GC::SampleProfile::*,HeapSample,HeapSample::*"
  # What Struct.new defines.
  NOT_DESCRIBED = %w[.new .[] .members .keyword_init? .inspect].freeze

  # Runs exercise.rb with the types of a folder: its lines, and whether it came to its end.
  def self.exercise(signatures, *brief)
    Dir.mktmpdir do |dir|
      env = {"RBS_TEST_TARGET" => TARGET, "RBS_TEST_OPT" => "-I #{signatures}", "RBS_TEST_LOGLEVEL" => "error", "RBS_TEST_SAMPLE_SIZE" => "20"}
      out, status = Open3.capture2e(env, RbConfig.ruby, "-I", "#{TOP}/src/lib", "-r", "#{__dir__}/typed.rb", "#{__dir__}/exercise.rb", "#{dir}/profiles", *brief)
      lines = out.lines(chomp: true)
      [lines, status.success? && lines.include?("exercised")]
    end
  end

  def self.exercised = @exercised ||= exercise(SIG)

  # The classes of sig/, and what it says of one.
  class Types
    attr_reader :names

    def initialize
      loader = RBS::EnvironmentLoader.new
      loader.add(path: Pathname(SIG))
      environment = RBS::Environment.from_loader(loader).resolve_type_names
      @builder = RBS::DefinitionBuilder.new(env: environment)
      @names = environment.class_decls.select { |_, entry| entry.decls.any? { |one| one.decl.location.buffer.name.to_s.start_with?(SIG) } }.keys
                          .reject { |name| %w[::GC ::HeapSample].include?(name.to_s) }
    end

    # Methods that sig/ itself gives a class: "#name" and ".name".
    def methods_of(name)
      own = ->(definition) { definition.methods.select { |_, one| one.accessibility == :public && one.defs.any? { |part| part.implemented_in == name } }.keys }
      own.(@builder.build_instance(name)).map { |one| "##{one}" } + own.(@builder.build_singleton(name)).map { |one| ".#{one}" } - [".new"]
    end
  end

  def self.types = @types ||= Types.new
  def types = self.class.types

  def setup
    return if NOT_BUILT

    require "rbs"
    require "heapsample/sample_profile"
    require "heapsample/assertions"
    # Two classes are made when they are first needed.
    GC::SampleProfile.prepare_labels
    GC::SampleProfile.label_book {}
  end

  # Methods that the code gives a class.
  def defined_in(klass)
    instance = klass.public_instance_methods(false).map { |one| "##{one}" }
    instance << "#initialize" if klass.is_a?(Class) && klass.private_method_defined?(:initialize, false)
    # Struct.new(…) do … end puts readers into the class itself.
    instance.concat(klass.members.flat_map { |member| ["##{member}", "##{member}="] }) if klass < Struct
    (instance + klass.singleton_methods(false).map { |one| ".#{one}" }).uniq - NOT_DESCRIBED
  end

  def differences(name)
    klass = Object.const_get(name.to_s)
    there = defined_in(klass)
    said = types.methods_of(name)
    # A private or internal initialize need not be described, and `initialize` is inherited.
    missing = there - said - ["#initialize"]
    extra = (said - there).reject { |one| one == "#initialize" || klass < Struct }
    missing.map { |one| "#{klass}#{one} is not in sig/" } + extra.map { |one| "#{klass}#{one} is in sig/ and not in the code" }
  end

  test "rbs validate accepts sig/", missing: NOT_BUILT do
    assert_success RbConfig.ruby, Gem.bin_path("rbs", "rbs"), "-I", SIG, "validate"
  end

  test "each class in sig/ has the methods that the code has", missing: NOT_BUILT do
    assert_operator types.names.size, :>=, 30
    assert_none(types.names.flat_map { |name| differences(name) })
  end

  test "each analysis is in sig/", missing: NOT_BUILT do
    analyses = HeapSample.constants.map { |name| HeapSample.const_get(name) }.grep(Class).select { |klass| klass < HeapSample::Analysis }.uniq
    assert_none(analyses.map { |klass| "::#{klass}" } - types.names.map(&:to_s))
  end

  test "real calls fit the types", missing: NOT_BUILT do
    lines, ended = self.class.exercised
    assert ended, lines.grep_v(/\Acalled: /).last(20).join("\n")
    assert_none lines.grep(/\Amisfit: /)
  end

  test "each method in sig/ was called", missing: NOT_BUILT do
    called = self.class.exercised.first.filter_map { |line| line[/\Acalled: (.*)/, 1] }
    uncalled = types.names.flat_map { |name| types.methods_of(name).map { |one| "#{name.to_s.delete_prefix("::")}#{one}" } } - called
    # rbs/test does not watch those that it calls itself.
    assert_none(uncalled.reject { |one| one.match?(/#(initialize|pretty_print|inspect|hash|eql\?|==)\z/) || Object.const_get(one[/[^#.]+/]) < Struct })
  end

  test "a wrong type is found", missing: NOT_BUILT do
    Dir.mktmpdir do |dir|
      wrong = "#{dir}/wrong"
      FileUtils.cp_r(SIG, wrong)
      Dir["#{wrong}/*.rbs"].each { |file| File.write(file, File.read(file).sub("def gc_count: () -> Integer?", "def gc_count: () -> String")) }
      lines, = self.class.exercise(wrong, "brief")
      assert(lines.any? { |line| line.start_with?("misfit: [HeapSample::Meta#gc_count]") }, lines.last(5).join("\n"))
    end
  end
end
