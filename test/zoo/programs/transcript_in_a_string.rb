# A terminal keeps the transcript of its session in one String, to which each line is appended. The String doubles its buffer
# from time to time, so that memory grows in steps; in between, malloc gives nothing.
#
# kind: leak
# also: native
# rate: 92000
require_relative "../load"

class Terminal
  def initialize = (@transcript, @screen = +"", [])

  def write(line)
    @transcript << line << "\n" # LEAK KEEPER
    @screen << line
    @screen.shift if @screen.size > 24
  end

  def screen = @screen.join("\n")
end

TERMINAL = Terminal.new
Load.run(300) do |n|
  TERMINAL.write("#{n}: #{"output of a command " * 15}") # LEAK
  TERMINAL.screen
end
