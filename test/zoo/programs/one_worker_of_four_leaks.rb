# Four forked workers run the same code. The queue gives each worker a tenant of its own, and the fourth tenant has turned on
# the history of changes, which is never shortened.
#
# kind: leak
# rate: 460000
require_relative "../load"
require_relative "../workers"

class Document
  def initialize(history:) = (@history, @text, @changes = history, "", [])

  def change(number)
    @text = Array.new(60) { |i| "paragraph #{i}, version #{number}" }.join("\n")
    @changes << { version: number, lines: @text.lines.first(25) } if @history # LEAK KEEPER
  end
end

Workers.run(4) do |index|
  document = Document.new(history: index == 3)
  Load.run(60) { |n| document.change(n) } # LEAK
end
