# frozen_string_literal: true

require_relative "../../check/docs/docs"

# The manual of the Ruby API is installed, and whole: ri and irb find it; each method of GC::SampleProfile has a page that says
# how it is called and what it returns; each method of the classes in sig/ has a page.
class ManualTest < DocsTest
  NO_MANUAL = Docs::NOT_BUILT || ("the manual is not installed: run make build" unless File.directory?("#{RbConfig::CONFIG["ridir"]}/#{RbConfig::CONFIG["ruby_version"]}/system"))
  BIN = File.dirname(RbConfig.ruby)
  # What Ruby itself calls, and what each analysis has.
  COMMON = %i[inspect pretty_print == eql? hash to_s to_h each lines deconstruct_keys].freeze

  # What ri reads.
  def self.store
    @store ||= begin
      require "rdoc"
      require "rdoc/ri"
      RDoc::Store.new(RDoc::Options.new, path: File.join(RbConfig::CONFIG["ridir"], RbConfig::CONFIG["ruby_version"], "system"), type: :system).tap(&:load_cache)
    end
  end

  def setup
    return if NO_MANUAL

    require "heapsample/sample_profile"
    require "heapsample/assertions"
    require "rbs"
  end

  def ri(*names) = Open3.capture2e({"RI" => "--format=markdown --no-pager"}, RbConfig.ruby, "#{BIN}/ri", *names)

  # "Class#name" or "Class.name": the class, the sign, the name.
  def parts(name) = name.match(/\A(.+?)([#.])([^#.]+)\z/).captures

  # The page of a method: true of an attribute, nil if it has none or an empty one.
  def page(name)
    klass, sign, method = parts(name)
    store = self.class.store
    return true if store.attributes.fetch(klass, []).any? { |attribute| attribute.end_with?(" #{method}") }

    found = store.load_method(klass, "#{sign == "." ? "::" : "#"}#{method}")
    found unless found.comment.parse.parts.empty?
  rescue RDoc::Store::MissingFileError
    nil
  end

  # Is it marked as no part of the API, or a column that HeapSample::Columns has a page of?
  def internal?(name)
    klass, sign, method = parts(name)
    klass = Object.const_get(klass)
    file, line = (sign == "." ? klass.method(method) : klass.instance_method(method)).source_location
    File.readlines(file)[line - 1].match?(/:nodoc:|attr_accessor|class_eval|alias/)
  end

  # Names of the classes that sig/ describes.
  def described
    loader = RBS::EnvironmentLoader.new(core_root: nil)
    loader.add(path: Pathname("#{TOP}/sig"))
    RBS::Environment.from_loader(loader).class_decls.keys.map { |name| name.to_s.delete_prefix("::") }
  end

  # Methods of GC.sample_profile's classes, but for what irb and pp call.
  def api
    profile = GC::SampleProfile
    ["GC.sample_profile", *profile.singleton_methods(false).map { |name| "#{profile}.#{name}" },
     *[profile, profile::Sample].flat_map { |klass| klass.public_instance_methods(false).map { |name| "#{klass}##{name}" } }]
      .reject { |name| name.end_with?("#inspect", "#pretty_print") }
  end

  test "ri shows GC::SampleProfile", missing: NO_MANUAL do
    text, status = ri("GC::SampleProfile")
    assert status.success?, text
    assert_includes text, "A profile of the memory of a Ruby process"
  end

  test "irb shows the page of GC::SampleProfile.start", missing: NO_MANUAL do
    shown, = Open3.capture2e({"TERM" => "dumb"}, RbConfig.ruby, "#{BIN}/irb", "-f", "--noprompt", stdin_data: "show_doc GC::SampleProfile.start\nexit\n")
    assert_includes shown, "Starts to sample this process"
  end

  test "each method of GC::SampleProfile and its samples has a page", missing: NO_MANUAL do
    assert_operator api.size, :>=, 35
    assert_none(api.reject { |name| page(name) })
  end

  test "each page says how the method is called and what it returns", missing: NO_MANUAL do
    pages = api.to_h { |name| [name, page(name)] }.compact
    assert_none(pages.reject { |name, page| page == true || name == "GC::SampleProfile::Sample#young?" || page.call_seq&.include?("->") }.keys)
  end

  test "the page of stat names each of its keys", missing: NO_MANUAL do
    text, = ri("GC::SampleProfile.stat")
    assert_none(GC::SampleProfile.stat.keys.reject { |key| text.match?(/:#{key}\b/) })
  end

  test "each method of the classes in sig/ has a page", missing: NO_MANUAL do
    known = described
    modules = HeapSample.constants.sort.map { |name| HeapSample.const_get(name) }.grep(Module)
                        .flat_map { |one| [one, *one.constants(false).map { |name| one.const_get(name) }.grep(Class)] }
                        .select { |klass| known.include?(klass.name) && !(klass < Struct) }
    names = modules.flat_map do |klass|
      (klass.public_instance_methods(false) - COMMON).map { |name| "#{klass}##{name}" } + klass.singleton_methods(false).map { |name| "#{klass}.#{name}" }
    end
    assert_operator names.size, :>=, 200
    assert_none(names.reject { |name| page(name) || internal?(name) })
  end
end
