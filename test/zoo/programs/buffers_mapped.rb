# Frames of video are read into IO::Buffer, which maps its memory and does not malloc it. Those that are not released stay in a
# list of retries. No line is asked for: what is mapped is not sampled.
#
# kind: native
# tuned: yes
# also: leak
require_relative "../load"
Warning[:experimental] = false

class Camera
  RETRIES = []

  def frame(number)
    buffer = IO::Buffer.new(256 * 1024)
    buffer.clear(number % 251)
    number % 2 == 0 ? buffer.free : RETRIES << buffer
  end
end

camera = Camera.new
Load.run(10) { |n| camera.frame(n) }
