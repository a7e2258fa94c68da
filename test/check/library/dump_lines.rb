# frozen_string_literal: true

require "json"
require "stringio"
require "heapsample"

# Writes heap dumps as ObjectSpace.dump_all does, from a few words:
#
#   dump = DumpLines.new
#   list = dump.object("ARRAY", "Array", refers: [one, two], file: "/srv/a.rb", line: 3)
#   dump.root("vm", dump.classes)
#   dump.profile(references: true)
class DumpLines
  CLASSES = %w[BasicObject Object Module Class String Array Hash].freeze
  MODULES = %w[Kernel Comparable Enumerable Math Process].freeze
  FIRST = 0x7f00_0001_0028
  # Bytes of a slot; there is a page for 400 of them.
  SLOT = 40

  def initialize
    @next = FIRST
    @objects = []
    @roots = []
    @classes = [*CLASSES, *MODULES].to_h { |name| [name, take] }
    @classes.each { |name, address| add_class(name, address, type: MODULES.include?(name) ? "MODULE" : "CLASS") }
  end

  # The address of a class, which is written once.
  def class_object(name, type: "CLASS", **fields)
    @classes[name] ||= add_class(name, take, type: type, **fields)
  end

  # The address of an object of a type and a class; nil: of none.
  def object(type, class_name, refers: [], memsize: 40, address: take, **fields)
    @objects << [address, {type: type, class: class_name && class_object(class_name), references: refers, memsize: memsize, slot_size: SLOT, **fields}]
    address
  end

  def root(name, refers) = @roots << {type: "ROOT", root: name, references: refers}

  # Leaves an address free.
  def take = @next.tap { @next += SLOT }

  # The addresses of all classes.
  def classes = @classes.values

  # The lines, in the order of MRI.
  def lines
    @roots.map { |root| line(root) } + @objects.map { |address, fields| line({address: address, **fields}) }
  end

  def text = lines.join

  def profile(**options) = HeapSample::Profile.load(StringIO.new(text), name: "dump.json", **options)

  private

  def add_class(name, address, type: "CLASS", **fields)
    @objects << [address, {type: type, class: @classes[type == "MODULE" ? "Module" : "Class"], name: name, memsize: 200, slot_size: 160, **fields}]
    address
  end

  # As MRI writes it: a blank after each comma and none after a colon, addresses as texts, no empty lists.
  def line(fields)
    fields = fields.compact.reject { |name, value| name == :references && value.empty? }
    fields[:references] = fields[:references].map { |address| hex(address) } if fields[:references]
    %i[address class superclass].each { |name| fields[name] = hex(fields[name]) if fields[name] }
    order = fields.keys - %i[references file line method generation memsize] + (%i[references file line method generation memsize] & fields.keys)
    parts = order.map { |name| "#{JSON.generate(name.to_s)}:#{value(fields[name])}" }
    parts << '"flags":{"wb_protected":true, "old":true}' unless fields[:type] == "ROOT"
    "{#{parts.join(", ")}}\n"
  end

  def value(value) = value.is_a?(Array) ? "[#{value.map { |one| JSON.generate(one) }.join(", ")}]" : JSON.generate(value)
  def hex(address) = "0x#{address.to_s(16)}"
end
