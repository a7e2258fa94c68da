# frozen_string_literal: true

# Does the walk reach what Ruby's own dump of the heap reaches, in the whole of a booted Rails application? Every object is a
# sample (interval=1), so the figures of the walk are counts. The dump (ObjectSpace.dump_all) has all objects with their references and
# the roots: what is reached there is found here, breadth first.
#
# The walk must reach what the dump does, and in addition what finalizers hold, which are no roots of the dump, and a few objects
# that were allocated in between.  Objects from before sampling began are only in the totals.
#
# ObjectSpace.reachable_objects_from by itself stops at the variables of a block, which are an object of the VM: it names
# neither them nor what they hold.  The walk does.
# Usage: ruby --heap-sample=interval=1,max-samples=none,malloc=off,output=none reachable.rb FOLDER     in examples/rails; fails where they differ
require "heapsample"
require "json"
require "objspace"
require "rack/mock"
require File.expand_path("config/environment", Dir.pwd)

abort "the application does not serve" unless Rack::MockRequest.new(Rails.application).get("/up", "HTTP_HOST" => "localhost").ok?

# -- as the dump has it

# The objects of a dump by address, and what its roots refer to.
class Dump
  attr_reader :objects, :roots

  def initialize(file)
    @objects = {}
    @roots = []
    File.foreach(file) do |line|
      one = JSON.parse(line)
      one["type"] == "ROOT" ? @roots.concat(one["references"] || []) : @objects[one["address"]] = one
    end
  end

  def reached
    @reached ||= begin
      found = {}
      waiting = @roots.dup
      until waiting.empty?
        address = waiting.pop
        next if found[address] || !(object = @objects[address])

        found[address] = true
        waiting.concat(object["references"] || [])
        waiting << object["class"] if object["class"]
      end
      found
    end
  end

  # Alive, and not reached; shapes are no objects.
  def left_out = @objects.reject { |address, object| reached[address] || object["type"] == "SHAPE" }.values

  # The same without what is a finalizer: an Array of the VM's, which no object refers to, with the blocks.
  def left_out_but_for_finalizers
    lists, others = left_out.partition { |object| object["type"] == "ARRAY" && !object["class"] }
    theirs = lists.flat_map { |list| list["references"] || [] }
    blocks, others = others.partition { |object| object["struct"] == "proc" && theirs.include?(object["address"]) }
    others.reject { |object| blocks.any? { |block| block["references"].include?(object["address"]) } }
  end

  # How many there are of each class, as the rows of a profile call it. What is between a class and a module that it includes has either name.
  def by_class
    @objects.each_value.flat_map { |object| names(object) }.tally
  end

  private

  def names(object)
    case object["type"]
    when "IMEMO" then ["(imemo:#{object["imemo_type"]})"]
    when "CLASS", "MODULE" then ["Class"]
    when "ICLASS" then ["Class", name_of_class(@objects[object["class"]])].compact
    else [name_of_class(@objects[object["class"]]) || object["type"].capitalize]
    end
  end

  # An object's own class has none: the class above it has.
  def name_of_class(klass)
    klass = @objects[klass["superclass"]] while klass && !klass["name"]
    klass && klass["name"]
  end
end

# -- as the walk has it

COLUMNS = GC::SampleProfile.raw_columns

# Objects of each class: reached, and not.
def walked(raw)
  missed = raw[:holders].each_slice(10).with_index.filter_map { |node, index| index if raw[:texts][node[2]] == "(not reached)" }
  raw[:kept].each_slice(5).with_object({}) do |(row, node, objects, *), found|
    name = raw[:texts][raw[:rows][row][COLUMNS[:class]]]
    counts = found[name == "Module" ? "Class" : name] ||= [0, 0]
    counts[missed.include?(node) ? 1 : 0] += objects.round
  end
end

def ways(raw)
  held = HeapSample::Holders.from_raw(raw[:holders], raw[:kept], raw[:texts], raw[:rows])
  held.map { |one| [held.path(one.node).map(&:name), one] }
end

def names_of(raw, class_name) = ways(raw).find { |_, one| one.class_name == class_name }.first

# -- a block's variable

class Order; end

def block_with_a_variable
  order = Order.new
  -> { order }
end
BLOCK = block_with_a_variable

def reached_by_object_space(from)
  found = {}.compare_by_identity
  waiting = [from]
  until waiting.empty?
    object = waiting.pop
    next if found[object] || ObjectSpace::InternalObjectWrapper === object || Module === object

    found[object] = true
    waiting.concat(ObjectSpace.reachable_objects_from(object) || [])
    break if found.size > 1000
  end
  found.keys
end

# -- both

file = File.join(ARGV.fetch(0), "reachable.json")
GC.start
GC.disable
File.open(file, "w") { |out| ObjectSpace.dump_all(output: out) }
raw = GC.sample_profile(why: true).raw
GC.enable
walk = HeapSample::MetaMessage.decode(raw[:meta_message]).fetch("kept")
abort "refused: #{walk["refused"]}" if walk["refused"]
dump = Dump.new(file)
File.unlink(file)

total = dump.reached.size
theirs = dump.by_class
ours = walked(raw)
left_out = dump.left_out.size
puts "reached: #{walk["objects"]} by the walk, #{total} by the dump; #{left_out} are alive beside these, of finalizers"
wrong = []
wrong << "the totals differ" unless (walk["objects"] - total - left_out).between?(0, 20)
wrong << "alive, not reached by the dump, and no finalizer's: #{dump.left_out_but_for_finalizers.first(3)}" if dump.left_out_but_for_finalizers.any?
made = ->(name) { name.start_with?("(imemo") ? 5 : 0 } # by calls, in between
wrong.concat(ours.filter_map { |name, (count, _)| "#{name}: #{count} by the walk, #{theirs[name]} by the dump" if theirs[name] && count > theirs[name] + made[name] })
missed = ours.filter_map { |name, (_, count)| "#{name}: #{count}" if count > 0 }
wrong << "the walk missed #{missed.join(", ")}" if ours.sum { |_, (_, count)| count } > 5
wrong << "only #{ours.size} classes, #{total} objects: is that a Rails application?" if ours.size < 300 || total < 100_000
wrong << "ObjectSpace knows the variable: say so in doc/why.md" if reached_by_object_space(BLOCK).grep(Order).any?
names = names_of(raw, "Order")
wrong << "the way to the variable is #{names}" unless names[1] == "BLOCK" && names.last.start_with?("local order of")
puts wrong
exit wrong.empty?
