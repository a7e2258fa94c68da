# frozen_string_literal: true

# Gems' C code in real use: what it allocates must be charged to the Ruby line that called it, below functions of the
# library that asked for it.
#
# Usage: ruby --heap-sample=output=none,malloc=4k gems.rb     with BUNDLE_GEMFILE set
# Environment: GEMS=nokogiri          these gems alone, separated by commas
#              NOKOGIRI=libxml2\.so   a pattern for the file that has nokogiri's libxml2
require_relative "../../testing" # before the bundle, which does not have minitest
require "bundler/setup"
require_relative "charged"

# What a gem keeps, the line that made it, functions of which one must be seen, and the file that has these functions.
Used = Struct.new(:kept, :line, :functions, :library)

module Use
  module_function

  def nokogiri
    require "nokogiri"
    page = "<feed>#{"<entry id='1'><title>A title</title><body>Some <b>bold</b> text</body></entry>" * 200}</feed>"
    documents = Array.new(10) { Nokogiri::XML(page) }; line = __LINE__
    titles = documents.flat_map { |document| document.xpath("//entry/title").first(2).map(&:text) }
    raise "nokogiri does not work" unless titles.uniq == ["A title"]

    Used.new(documents, line, %w[xmlSAX2StartElementNs xmlSAX2TextNode xmlStrndup xmlStrdup xmlNewDocNode xmlSAX2Characters],
             Regexp.new(ENV.fetch("NOKOGIRI", 'nokogiri\.so')))
  end

  def openssl
    require "openssl"
    key = OpenSSL::PKey::RSA.new(2048)
    own = OpenSSL::X509::Certificate.new
    own.public_key = key
    own.subject = own.issuer = OpenSSL::X509::Name.parse("/CN=example")
    own.not_before = own.not_after = Time.now
    pem = own.sign(key, "SHA256").to_pem
    certificates = Array.new(1000) { OpenSSL::X509::Certificate.new(pem) }; line = __LINE__
    raise "openssl does not work" unless certificates.all? { |certificate| certificate.verify(key) }

    Used.new(certificates, line, %w[CRYPTO_zalloc CRYPTO_malloc ASN1_item_d2i_ex PEM_ASN1_read_bio], /libcrypto\.so/)
  end

  def zlib
    require "zlib"
    streams = Array.new(20) { Zlib::Deflate.new.tap { |stream| stream.deflate("some text " * 1000) } }; line = __LINE__
    raise "zlib does not work" unless Zlib.inflate(Zlib.deflate("some text")) == "some text"

    Used.new(streams, line, %w[deflateInit2_], /libz\.so|zlib\.so/)
  end
end

class GemsTest < Test
  USED = ENV.fetch("GEMS", "nokogiri,openssl,zlib").split(",").to_h { |name| [name, Use.public_send(name)] }
  ROWS = Charged.rows.select { |row| row.kind == :malloc }

  USED.each do |name, used|
    test "#{name}: it is the gem, not Ruby's own" do
      spec = Gem.loaded_specs.fetch(name)
      assert_includes spec.gem_dir, "/bundle/"
    end

    test "#{name}: its memory is charged to the line, below a function of its library" do
      at_line = ROWS.select { |row| row.line_in(__FILE__) == used.line }
      of_library = at_line.select { |row| row.libraries.any?(used.library) }
      assert_operator of_library.sum(&:space), :>, 200_000, "of #{at_line.sum(&:space).round} bytes of the line"
      functions = of_library.flat_map(&:functions)
      assert (functions & used.functions).any?, functions.tally.max_by(10, &:last).inspect
    end

    test "#{name}: no other line has more of the library's memory" do
      lines = ROWS.select { |row| row.libraries.any?(used.library) }.group_by { |row| row.line_in(__FILE__) }
      assert_equal used.line, lines.max_by { |_, rows| rows.sum(&:space) }&.first
    end
  end
end
