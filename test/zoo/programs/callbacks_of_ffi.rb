# A binding to a C library makes a callback by ffi for each call and keeps it, lest it be collected while C code may use it.
# Nobody drops one after the call. The mended program keeps it for the call.
#
# kind: leak
# tuned: yes
# also: native
# line: ffi/
# gems: ffi 1.17.4
# mended: ffi 1.17.4
require_relative "../load"
require "ffi"

module LibC
  extend FFI::Library
  ffi_lib FFI::Library::LIBC
  callback :compare, %i[pointer pointer], :int
  attach_function :qsort, %i[pointer size_t size_t compare], :void
end

class Sorter
  def initialize = @callbacks = []

  def sort(numbers)
    by = FFI::Function.new(:int, %i[pointer pointer]) { |a, b| a.read_int <=> b.read_int } # LEAK
    @callbacks.clear if ENV["ZOO_MENDED"] == "1"
    @callbacks << by # LEAK KEEPER
    memory = FFI::MemoryPointer.new(:int, numbers.size).write_array_of_int(numbers)
    LibC.qsort(memory, numbers.size, 4, by)
    memory.read_array_of_int(numbers.size)
  end
end

SORTER = Sorter.new
RANDOM = Random.new(1)
Load.run(100) { SORTER.sort(Array.new(12) { RANDOM.rand(1000) }) } # LEAK
