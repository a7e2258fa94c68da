# A binding by Fiddle takes a buffer by malloc for each call and frees it only where the call succeeds.
#
# kind: native
# tuned: yes
# also: leak
# line: fiddle/, fiddle.so
require_relative "../load"
require "fiddle"

STRLEN = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T)

def native_length(text)
  buffer = Fiddle.malloc(text.bytesize + 1) # LEAK
  Fiddle::Pointer.new(buffer)[0, text.bytesize + 1] = "#{text}\0"
  length = STRLEN.call(buffer)
  return length if length > 1500 # forgets the buffer

  Fiddle.free(buffer)
  length
end

Load.run(800) { |n| native_length("x" * (n % 2000)) }
