# frozen_string_literal: true

# A gallery whose C extension leaks: it looks into each photo's thumbnail, in C, and loses the pixels there.
# Usage: ruby -I DIRECTORY-OF-thumbnail.so leak.rb [PHOTOS]

require "thumbnail"

class Gallery
  WIDTH = 160
  HEIGHT = 128

  def initialize
    @brightness = {}
  end

  def add(id)
    photo = "photo #{id}" * 40
    @brightness[id] = Thumbnail.brightness(photo, WIDTH, HEIGHT)
  end
end

photos = Integer(ARGV.fetch(0, 2_000))
gallery = Gallery.new
1.upto(photos) { |id| gallery.add(id) }
GC.start
puts "retained: #{photos * Gallery::WIDTH * Gallery::HEIGHT * 4} bytes of #{photos} thumbnails, in C"
