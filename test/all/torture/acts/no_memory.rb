# frozen_string_literal: true

# Requests that no machine can meet: NoMemoryError, again and again, and all is as before.
class NoMemory < Act
  HUGE = 1 << 50                # bytes; an address has 47 bits

  def step
    text = 'abc' * 100
    rescued(NoMemoryError) { 'x' * HUGE }
    rescued(NoMemoryError) { text.ljust(HUGE) }
    rescued(NoMemoryError) { String.new(capacity: HUGE) }
    rescued(NoMemoryError) { Array.new(HUGE >> 3, 0) }
    same('abc' * 100, text, 'a string beside it')
    @kept = Witness.new(__FILE__, __LINE__)
    sleep(@random.rand * 0.05)
  end
end
