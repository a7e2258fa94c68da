# frozen_string_literal: true

# Connections to a database, while descriptors are closed and used again.
class Queries < Act
  def call
    right_answers(1 + @random.rand(5), 1 + @random.rand(20)) { Array.new(3) { IO.pipe }.flatten.each(&:close) }
  end
end
