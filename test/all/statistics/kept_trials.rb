# frozen_string_literal: true

# Do the intervals of "retained by" hold what is retained?
#
# Each trial plants objects (planted.rb), each below one holder, and knows how many bytes of each class each holder has.  A
# walk then draws the tree of `heapsample why`.  Each line of the tree about these holders, and each about one class of one
# holder, has an interval: the truth is to lie in 95% of them.  The least holder has some samples only.  Lines that no sample
# stands behind are not drawn, and not counted.
#
# Usage: [TRIALS=2000] ruby --heap-sample=off,malloc=standby,output=none kept_trials.rb     a fifth of so many trials
require_relative "../../testing"
require "heapsample"
require_relative "planted"

TRIALS = Integer(ENV["TRIALS"] || 2000) / 5
CLASSES = [Small, Large, Text].freeze

# Bytes of each holder's objects, by class.
def planted
  truth = NAMES.to_h { |name| [name, Hash.new(0)] }
  plant(2000) { |object, holder| truth[NAMES[holder]][object.class.name] += ObjectSpace.memsize_of(object) }
  truth
end

# Array or Hash, and the memory that it has.
def container(name) = ObjectSpace.memsize_of(Plant.boxes.fetch(name)[0])

def each_node(node, &)
  yield node
  node.children.each { |child| each_node(child, &) }
end

# The line of a holder, and the lines of its classes below.
def lines(why, name)
  each_node(why.root) do |node|
    next unless node.steps&.any? { |step| step.edges.any? { |edge| edge.name == name } }

    classes = {}
    each_node(node) { |below| (classes[below.key] ||= []) << below.estimate if below.key }
    return [node.estimate, classes.transform_values { |parts| HeapSample::Estimate.sum(parts) }]
  end
  nil
end

# Of a trial: [estimate, truth, which kind of line]
def trial(interval)
  truth = nil
  profile = GC.sample_profile(interval: interval, why: true, threads: :all) do
    truth = planted     # on this thread: of each new one jemalloc draws the first samples by its address, so each time the same
    GC.start
  end.to_profile
  raise "refused: #{profile.info.walk.refused}" if profile.info.walk.refused
  why = profile.why(top: 10_000, min_share: 0.0)
  NAMES.flat_map do |name|
    all, classes = lines(why, name)
    next [] unless all

    [[all, truth[name].each_value.sum + container(name), :holders],
     *CLASSES.filter_map { |klass| [classes[klass.name], truth[name][klass.name], :classes] if classes[klass.name] }]
  end
end

class RetainedTest < Test
  { "2 KiB" => 2048, "16 KiB" => 16_384 }.each do |name, interval|
    test "at an interval of #{name} the intervals of the tree's lines hold the truth" do
      trial(interval)
      lines = Array.new(TRIALS) { trial(interval) }.flatten(1)
      lines.group_by(&:last).each do |kind, some|
        covered = some.count { |estimate, truth,| truth.between?(*estimate.space_interval) } / some.size.to_f
        ratio = some.sum { |estimate,| estimate.space } / some.sum { |_, truth,| truth.to_f }
        weak = some.count { |estimate,| estimate.samples < HeapSample::Estimate::WEAK_BELOW }
        note format("%s: %.1f%% of %d lines in %d trials, %.3f of the truth; %d lines of fewer than 10 samples",
                    kind, covered * 100, some.size, TRIALS, ratio, weak)
        assert_operator covered, :>=, 0.95 - 4 * Math.sqrt(0.95 * 0.05 / some.size), kind.to_s
      end
    end
  end
end
