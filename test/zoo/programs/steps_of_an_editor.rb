# An editor keeps its last step in a global variable. Each step is a Struct with a member that leads to the step before it, so that
# every text since the start is retained.
#
# kind: leak
# keeper: previous of Step, Step#previous, previous
# rate: 360000
require_relative "../load"

Step = Struct.new(:text, :position, :previous)

TEXT = Array.new(60) { |i| "paragraph #{i} has a few words that a person edits again and again" }
$last_step = nil

def edit(number)
  position = number % TEXT.size
  before = TEXT[position]
  TEXT[position] = "paragraph #{position} after edit #{number}: #{"word #{number % 13} " * 30}" # LEAK
  $last_step = Step.new(before, position, $last_step) # LEAK KEEPER
end

Load.run(1000) do |n|
  edit(n) # LEAK
  TEXT.join("\n").scan(/edit \d+/).size if n % 10 == 0
end
