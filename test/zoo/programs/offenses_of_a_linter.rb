# A linter runs as a server beside an editor. It has the trees of a whole project (Prism) in memory, parses a file again whenever it is
# edited, and reports its offenses. They are kept for a summary at the end, and each has its class's node, which has all that is below it.
#
# kind: leak
# line: prism
# keeper: LINTER
# gems: prism 2.1.0
# starts: 4
# rate: 1100000
require_relative "../load"
require "prism"

module Project
  def self.source(number, methods)
    body = Array.new(methods) do |i|
      "  def step_#{i}(order, limit: #{i})\n    total = order.lines.sum { |line| line.price * line.count }\n    total > limit ? approve(order, total + #{number}) : \"refused: \#{order.number} of #{number}\"\n  end\n" # rubocop:disable Layout/LineLength
    end
    "class File#{number} < Base\n#{body.join}end\n"
  end
end

TREES = {}
160.times { |i| TREES[i] = Prism.parse(Project.source(i, 420)).value }

class Offense
  attr_reader :text

  def initialize(text, node)
    @text = text
    @node = node
  end
end

class Linter < Prism::Visitor
  def initialize
    @offenses = []
    super
  end

  def check(tree) = tree.accept(self)

  def visit_class_node(node)
    @class = node
    super
    @offenses << Offense.new("#{node.name} has more than ten methods", node) if node.body.body.size > 10 # LEAK KEEPER
  end

  def visit_def_node(node)
    @name = "#{@class.name}##{node.name}: #{node.slice.size} characters"
    super
  end
end

LINTER = Linter.new
QUICK = Linter.new
Load.run(30) do |n|
  tree = Prism.parse(Project.source(n, n % 3 == 0 ? 18 : 9)).value # LEAK
  LINTER.check(tree) # LEAK
  old = TREES[n % TREES.size].statements.body.first
  old.body.body.first(60).each { |method| QUICK.visit(method) if QUICK.instance_variable_defined?(:@class) }
  9.times { |i| QUICK.check(Prism.parse(Project.source(n + i, 10)).value) }
end
