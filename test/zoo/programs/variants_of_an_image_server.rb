# Large: a server of images scales them for the browser, and retains what it made. The number of images is limited: the
# one that was not used for the longest time is removed. An image is retained in each width that was requested. Since
# the app sends the exact width of its window, there are hundreds of widths, and no limit of the widths of an image.
#
# kind: leak
# keeper: @variants, IMAGES, ImageCache, @images
# starts: 4
# rate: 3150000
require_relative "../load"

Scaled = Struct.new(:width, :bytes, :etag)

class Image
  LAST = "\xFF\xD9".b.freeze

  attr_reader :name

  def initialize(name, original)
    @name = name
    @original = original
    @variants = {}
  end

  def scaled(width)
    @variants[width] ||= scale(width) # LEAK KEEPER
  end

  private

  # In the place of a library of images: every so many bytes of the original.
  def scale(width)
    bytes = @original.byteslice(width % 31, width * 9) + LAST # LEAK
    Scaled.new(width, bytes, "\"#{@name}-#{width}-#{bytes.bytesize}\"") # LEAK
  end
end

class ImageCache
  LIMIT = 10_000

  def initialize = @images = {}

  def size = @images.size

  def store(name, original)
    @images[name] = Image.new(name, original)
    @images.shift if @images.size > LIMIT
  end

  def fetch(name)
    image = @images.delete(name) or return
    @images[name] = image
  end
end

def original(number) = Random.new(number).bytes(1_000) * 28

IMAGES = ImageCache.new
ImageCache::LIMIT.times { |i| IMAGES.store("image-#{i}.jpg", original(i)) }

def get(path, width)
  image = IMAGES.fetch(path) or return [404, {}, []]
  scaled = image.scaled(width) # LEAK
  [200, { "content-type" => "image/jpeg", "etag" => scaled.etag, "content-length" => scaled.bytes.bytesize.to_s }, [scaled.bytes]]
end

# New images come seldom. Each image is requested twice in the same width.
Load.run(1_200) do |n|
  IMAGES.store("image-#{IMAGES.size + n}.jpg", original(n)) if n % 300 == 0
  get("image-#{n / 2 * 7_919 % 9_000}.jpg", 240 + (n / 2 * 31 % 640)) # LEAK
end
