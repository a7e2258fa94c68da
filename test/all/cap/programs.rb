# frozen_string_literal: true

# Programs that would fill the sampler's tables: each in a process of its own, every object sampled at
# first. Own memory must stay below its bound at every moment, and the sums must stay right.
# Usage: PROGRAM=NAME [COUNT=N] OUT=FOLDER ruby programs.rb

require_relative "../../testing"

class CapTest < Test; end

# Two ways down at each step: 2**depth stacks.
module Paths
  module_function

  def left(depth, path) = depth.zero? ? yield : step(depth - 1, path) { yield }
  def right(depth, path) = depth.zero? ? yield : step(depth - 1, path) { yield }
  def step(depth, path, &block) = path.odd? ? left(depth, path >> 1, &block) : right(depth, path >> 1, &block)

  # Every i below 2**20 has a stack of its own.
  def take(i, &block) = step(20, i * 1_000_003 % (1 << 20), &block)

  # No two alike, nor any part of two as long as 20 frames.
  def deep(depth, path) = depth.zero? ? Object.new : deeper(depth, path)
  def deeper(depth, path) = path[depth % 20].zero? ? deep(depth - 1, path) : other(depth - 1, path)
  def other(depth, path) = depth.zero? ? Object.new : deeper(depth, path)
end

PROGRAMS = {
  "stacks" => ["a million distinct stacks, all kept", 1_000_000, lambda { |count, kept|
    count.times { |i| kept << Paths.take(i) { Object.new } }
  }],
  "freed-stacks" => ["a million distinct stacks, all dropped", 1_000_000, lambda { |count, _|
    count.times { |i| Paths.take(i) { Object.new } }
  }],
  "deep-stacks" => ["twenty thousand distinct stacks, more than 5,000 frames deep", 20_000, lambda { |count, kept|
    count.times { |i| kept << Paths.deep(5_000, i * 1_000_003 % (1 << 20)) }
  }],
  "methods" => ["a million generated methods in a thousand files", 1_000_000, lambda { |count, kept|
    host = Module.new
    count.times do |i|
      host.module_eval("def self.made_#{i} = Object.new", "/generated/#{i % 1000}.rb", i)
      kept << host.send(:"made_#{i}") if (i % 4).zero?
    end
  }],
  "evals" => ["a million evals, each with a file name of its own", 1_000_000, lambda { |count, kept|
    count.times do |i|
      object = eval("Object.new\n", nil, "/generated/view_#{i}.rb")
      kept << object if (i % 4).zero?
    end
  }],
  "classes" => ["a million classes, half of them named", 1_000_000, lambda { |count, kept|
    count.times do |i|
      made = Class.new
      Object.const_set(:"Made#{i}", made) if i.odd?
      kept << made.new
    end
  }],
  "sparse" => ["one living object in each heap page", 3_000_000, lambda { |count, kept|
    count.times { |i| (i % 1600).zero? ? kept << Object.new : Object.new }
  }],
  "sessions" => ["seven blocks profiled at once beside it", 300_000, lambda { |count, kept|
    nested = lambda do |blocks|
      next GC.sample_profile(interval: 1, threads: :all) { nested[blocks - 1] } if blocks.positive?
      count.times { |i| kept << Paths.take(i) { Object.new } }
    end
    nested[7]
  }],
  "mallocs" => ["a million distinct stacks of malloc, all kept", 1_000_000, lambda { |count, kept|
    count.times { |i| kept << Paths.take(i) { "x" * 1000 } }
  }],
}.freeze

name = ENV.fetch("PROGRAM")
title, default_count, program = PROGRAMS.fetch(name)
count = Integer(ENV["COUNT"] || default_count)
COLUMNS = GC::SampleProfile.raw_columns

def mib(bytes) = format("%.1f MiB", bytes.fdiv(1 << 20))

# Objects of these parts (:inuse, :young, :alloc, :freed) of rows of slots, and the variance of their number.
def sum(rows, *parts)
  objects = rows.sum { |row| parts.sum { |part| row[COLUMNS[:"#{part}_objects"]] } }
  variance = rows.sum { |row| parts.sum { |part| row[COLUMNS[:"#{part}_variance"]] } / row[COLUMNS[:slot_size]]**2 }
  [objects, variance]
end

def check_sum(name, truth, estimate)
  objects, variance = estimate
  # Six standard errors, and what is made while the figures are read.
  allowed = 6 * Math.sqrt(variance) + 3000
  CapTest.measured(name, (objects - truth).abs <= allowed, format("%d of %d (within %d)", objects, truth, allowed))
end

kept = []
2.times { GC.start }
GC::SampleProfile.start(interval: 1, malloc: 4096)
CapTest.measured("malloc is sampled each 4 KiB at first", GC::SampleProfile.stat[:malloc_interval] == 4096, GC::SampleProfile.stat[:malloc_interval])
live = GC.stat(:heap_live_slots)
made = GC.stat(:total_allocated_objects)
program.call(count, kept)

4.times { GC.start }
live = GC.stat(:heap_live_slots) - live
profile = GC.sample_profile
made = GC.stat(:total_allocated_objects) - made
rows = profile.raw[:rows].reject { |row| row[COLUMNS[:malloc]] }
bytes = profile.save(File.join(ENV.fetch("OUT"), "#{name}.pb.gz"))
stat = GC::SampleProfile.stat

CapTest.measured("#{title}: own memory never exceeded its bound", stat[:bytes_peak] <= stat[:bytes_max],
      "#{mib(stat[:bytes_peak])} of #{mib(stat[:bytes_max])}")
parts = %i[records totals stacks names malloc snapshots].map { |part| "#{part} #{mib(stat[:"bytes_#{part}"])}" }
puts "# #{parts.join(', ')}; the file: #{bytes} bytes"
puts "# #{stat.slice(:interval, :live_samples, :samples_taken, :sites, :stacks, :frames, :texts, :malloc_stacks).map { |pair| pair.join(' ') }.join(', ')}"
dropped = stat.select { |key, value| key.start_with?("dropped") && value.positive? }
puts "# #{dropped.map { |key, value| "#{key}: #{value}" }.join(', ')}" if dropped.any?
CapTest.measured("no sample was dropped", stat[:dropped_samples].zero?, stat[:dropped_samples])
check_sum("what lives", live, sum(rows, :inuse, :young))
check_sum("what was allocated", made, sum(rows, :alloc))
if name == "mallocs"
  space = profile.raw[:rows].select { |row| row[COLUMNS[:malloc]] }.sum { |row| row[COLUMNS[:inuse_space]] }
  account = GC::SampleProfile.memory
  truth = account[:malloc_live] + account[:sampler]
  CapTest.measured("what malloc gave", (space - truth).abs < truth * 0.05, "#{mib(space)} of #{mib(truth)}")
  puts "# jemalloc's own: #{mib(account[:jemalloc][:metadata])}"
end

# However much code is gone: the next leak has its line, its method and its class, in slots and in malloc.
class Leak; end
# So many objects that some 240 are sampled at the interval of 16 KiB to which the cap may lead: 30% is 4.7 standard errors.
LEAKED = 100_000
def leak_here(leaked)
  LEAKED.times { leaked << Leak.new }
  3_000.times { leaked << ("y" * 20_000) }
end

binding.local_variable_set(:profile, nil)     # Ruby may free it
kept.clear
2.times { GC.start }
sleep 3         # names are looked through again after 2 s, where that freed little before
leak_here(leaked = [])
here = GC.sample_profile(full_gc: true).rows.select { |row| row.stack.any? { |frame| frame.label == "Object#leak_here" && frame.path == __FILE__ } }
slots, mallocs = here.partition { |row| row.class_name != "(malloc)" }
objects = slots.sum { |row| row.class_name == "Leak" ? row.inuse.objects : 0 }
CapTest.measured("a leak is named afterwards", (objects - LEAKED).abs < 0.3 * LEAKED, "#{objects.round} of #{LEAKED} objects")
space = mallocs.sum { |row| row.inuse.space }
CapTest.measured("and its malloc memory", (space - 60e6).abs < 18e6, "#{mib(space)} of 57.2 MiB, #{leaked.size} things")
