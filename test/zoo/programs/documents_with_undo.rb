# Sixty documents are edited, and each keeps its last 100 versions for "undo". The least edited document has 100 after some twenty
# seconds; from then on an old version goes for each that comes.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 22
require_relative "../load"

class Document
  def initialize(number)
    @lines = Array.new(30) { |i| "line #{i} of document #{number}" }
    @undo = []
  end

  def edit(number)
    @undo << @lines
    @undo.shift if @undo.size > 100
    @lines = @lines.dup
    @lines[number % 30] = "edit #{number}, and what was written at that moment"
  end
end

DOCUMENTS = Array.new(60) { |i| Document.new(i) }

Load.run(300) { |n| DOCUMENTS[n % 60].edit(n) }
