# frozen_string_literal: true

# Is the manual of the Ruby API installed, and whole? As TAP: ri and irb's show_doc find it, and each public method of what sig/
# describes has a page; those of GC::SampleProfile say how they are called and what they return.
# Usage: ruby manual.rb SIG

require "open3"
require "rbs"
require "rdoc"
require "rdoc/ri"
require "heap_sample/sample_profile"
require "heap_sample/assertions"
require_relative "check"

sig = File.expand_path(ARGV.fetch(0))
BIN = File.dirname(RbConfig.ruby)
ENV["RI"] = "--format=markdown --no-pager"

def ri(*names) = Open3.capture2e(RbConfig.ruby, "#{BIN}/ri", *names)

text, status = ri("GC::SampleProfile")
check("ri GC::SampleProfile", status.success? && text.include?("A profile of the memory of a Ruby process") && text.include?("sample_profile") || false, text)

irb, = Open3.capture2e({"TERM" => "dumb"}, RbConfig.ruby, "#{BIN}/irb", "-f", "--noprompt", stdin_data: "show_doc GC::SampleProfile.start\nexit\n")
check("irb: show_doc GC::SampleProfile.start", irb.include?("Starts to sample this process"), irb)

loader = RBS::EnvironmentLoader.new(core_root: nil)
loader.add(path: Pathname(sig))
environment = RBS::Environment.from_loader(loader)
classes = environment.class_decls.keys.map { |name| Object.const_get(name.to_s) } - [GC, HeapSample]

methods = classes.to_h do |klass|
  names = klass.public_instance_methods(false).map { |name| "#{klass}##{name}" } + klass.singleton_methods(false).map { |name| "#{klass}.#{name}" }
  [klass, names]
end

# What ri reads.
STORE = RDoc::Store.new(RDoc::Options.new, path: File.join(RbConfig::CONFIG["ridir"], RbConfig::CONFIG["ruby_version"], "system"), type: :system)
STORE.load_cache

# The page of "Class#name" or "Class.name"; nil if it has none, or an empty one.
def page(name)
  klass, sign, method = name.match(/\A(.+?)([#.])([^#.]+)\z/).captures
  return true if STORE.attributes.fetch(klass, []).any? { |attribute| attribute.end_with?(" #{method}") }

  found = STORE.load_method(klass, "#{sign == "." ? "::" : "#"}#{method}")
  found unless found.comment.parse.parts.empty?
rescue RDoc::Store::MissingFileError
  nil
end

api = ["GC.sample_profile", *methods[GC::SampleProfile]] - %w[GC::SampleProfile#pretty_print GC::SampleProfile#inspect]
found = api.to_h { |name| [name, page(name)] }
unknown = found.select { |_, page| page.nil? }.keys
check("each method of GC::SampleProfile has a page (#{api.size})", api.size > 25 && unknown.empty?, unknown.join("\n"))

silent = found.compact.reject { |_, page| page.call_seq&.include?("->") }.keys
check("each page says how the method is called and what it returns", silent.empty?, silent.join("\n"))

INTERNAL = /[.#](pretty_print|inspect|initialize|==|eql\?|hash|to_s|to_h|lines|each|deconstruct_keys|new|\[\]|members|keyword_init\?|[a-z_]+=)\z/
others = methods.except(GC::SampleProfile).flat_map { |klass, names| klass < Struct ? [] : names }.grep_v(INTERNAL).reject { |name| page(name) }
check("each method of the classes in sig/ has a page", others.empty?, others.join("\n"))
finish
