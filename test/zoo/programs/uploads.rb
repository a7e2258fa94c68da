# Uploads of some hundred kilobytes come and go: memory of malloc is busy, and nothing stays.
#
# kind: steady
# tuned: yes
require_relative "../load"
require "zlib"
require "digest"

RANDOM = Random.new(5)
def upload(bytes) = RANDOM.bytes(bytes)

recent = []
Load.run(20) do |n|
  text = upload(50_000 + RANDOM.rand(300_000))
  recent << [n, Digest::MD5.hexdigest(text), Zlib::Deflate.deflate(text[0, 40_000], 1)]
  recent.shift if recent.size > 20
end
