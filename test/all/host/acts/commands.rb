# frozen_string_literal: true

# Backticks, system and popen: output and status are from the command.
class Commands < Act
  def call
    number = @random.rand(100)
    [`echo #{number}`.strip, $?.exitstatus, system("exit #{number}"), $?.exitstatus, IO.popen(["cat"], "r+") { |io| io.write("x" * number) && io.close_write; io.read.size }].inspect
  end
end
