# frozen_string_literal: true

# Is the manual of the Ruby API installed, and whole? As TAP: ri and irb find it; each method of GC::SampleProfile has a page
# that says how it is called and what it returns; each method of the classes in sig/ has a page.
# Usage: ruby manual.rb SIG

require "open3"
require "rbs"
require "rdoc"
require "rdoc/ri"
require "heapsample/sample_profile"
require "heapsample/assertions"
require_relative "../../tap"

# What is wrong, if anything: at most 40 lines.
def none(name, wrong) = Tap.report(wrong.empty?, name, wrong.first(40))

BIN = File.dirname(RbConfig.ruby)
ENV["RI"] = "--format=markdown --no-pager"

def ri(*names) = Open3.capture2e(RbConfig.ruby, "#{BIN}/ri", *names)

text, status = ri("GC::SampleProfile")
none("ri GC::SampleProfile", status.success? && text.include?("A profile of the memory of a Ruby process") ? [] : text.lines(chomp: true))

irb, = Open3.capture2e({"TERM" => "dumb"}, RbConfig.ruby, "#{BIN}/irb", "-f", "--noprompt", stdin_data: "show_doc GC::SampleProfile.start\nexit\n")
none("irb: show_doc GC::SampleProfile.start", irb.include?("Starts to sample this process") ? [] : irb.lines(chomp: true))

# What ri reads.
STORE = RDoc::Store.new(RDoc::Options.new, path: File.join(RbConfig::CONFIG["ridir"], RbConfig::CONFIG["ruby_version"], "system"), type: :system)
STORE.load_cache

# The page of "Class#name" or "Class.name": true of an attribute, nil if it has none or an empty one.
def page(name)
  klass, sign, method = name.match(/\A(.+?)([#.])([^#.]+)\z/).captures
  return true if STORE.attributes.fetch(klass, []).any? { |attribute| attribute.end_with?(" #{method}") }

  found = STORE.load_method(klass, "#{sign == "." ? "::" : "#"}#{method}")
  found unless found.comment.parse.parts.empty?
rescue RDoc::Store::MissingFileError
  nil
end

# Names of the classes that sig/ describes.
described = RBS::EnvironmentLoader.new(core_root: nil).then do |loader|
  loader.add(path: Pathname(ARGV.fetch(0)))
  RBS::Environment.from_loader(loader).class_decls.keys.map { |name| name.to_s.delete_prefix("::") }
end

profile = GC::SampleProfile
SAMPLE = profile::Sample
api = ["GC.sample_profile", *profile.singleton_methods(false).map { |name| "#{profile}.#{name}" },
       *[profile, SAMPLE].flat_map { |klass| klass.public_instance_methods(false).map { |name| "#{klass}##{name}" } }]
# What irb and pp call.
api.reject! { |name| name.end_with?("#inspect", "#pretty_print") }
found = api.to_h { |name| [name, page(name)] }
missing = found.select { |_, page| page.nil? }.keys
missing << "there are #{api.size} methods only" if api.size < 35
none("each method of GC::SampleProfile and its samples has a page", missing)

silent = found.compact.reject { |name, page| page == true || name == "#{SAMPLE}#young?" || page.call_seq&.include?("->") }.keys
none("each page says how the method is called and what it returns", silent)

text, = ri("#{profile}.stat")
none("the page of stat names each of its keys", profile.stat.keys.reject { |key| text.match?(/:#{key}\b/) })

# Is it marked as no part of the API, or a column that HeapSample::Columns has a page of?
def internal?(name)
  klass, sign, method = name.match(/\A(.+?)([#.])([^#.]+)\z/).captures
  klass = Object.const_get(klass)
  file, line = (sign == "." ? klass.method(method) : klass.instance_method(method)).source_location
  File.readlines(file)[line - 1].match?(/:nodoc:|attr_accessor|class_eval|alias/)
end

# What is called by Ruby itself, and what each analysis has.
COMMON = %w[inspect pretty_print == eql? hash to_s to_h each lines deconstruct_keys].freeze
others = HeapSample.constants.sort.filter_map { |name| HeapSample.const_get(name) }.grep(Module).flat_map { |one| [one, *one.constants(false).map { |name| one.const_get(name) }.grep(Class)] }
                   .select { |klass| described.include?(klass.name) && !(klass < Struct) }
names = others.flat_map do |klass|
  (klass.public_instance_methods(false) - COMMON.map(&:to_sym)).map { |name| "#{klass}##{name}" } + klass.singleton_methods(false).map { |name| "#{klass}.#{name}" }
end
missing = names.reject { |name| page(name) || internal?(name) }
missing << "there are #{names.size} methods only" if names.size < 200
none("each method of the classes in sig/ has a page", missing)
Tap.finish
