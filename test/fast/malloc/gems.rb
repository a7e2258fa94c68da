# frozen_string_literal: true

# Gems' C code in real use: what it allocates must be charged to the Ruby line that called it, below functions of the
# library that asked for it.
#
# Usage: ruby --heap-sample=output=none,malloc=4k -rbundler/setup gems.rb CASE LIBRARY     prints TAP
# CASE: nokogiri, openssl or zlib; LIBRARY: a Regexp for the file that the native frames are in.
require_relative "../../tap"
require_relative "charged"

CASE, LIBRARY = ARGV.fetch(0), Regexp.new(ARGV.fetch(1))

# Each returns what it keeps, the line that made it, and functions of which one must be seen.
def nokogiri
  require "nokogiri"
  page = "<feed>#{"<entry id='1'><title>A title</title><body>Some <b>bold</b> text</body></entry>" * 200}</feed>"
  documents = Array.new(10) { Nokogiri::XML(page) }; line = __LINE__
  titles = documents.flat_map { |document| document.xpath("//entry/title").first(2).map(&:text) }
  abort "nokogiri does not work" unless titles.uniq == ["A title"]
  [documents, line, %w[xmlSAX2StartElementNs xmlSAX2TextNode xmlStrndup xmlStrdup xmlNewDocNode xmlSAX2Characters]]
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
  abort "openssl does not work" unless certificates.all? { |certificate| certificate.verify(key) }
  [certificates, line, %w[CRYPTO_zalloc CRYPTO_malloc ASN1_item_d2i_ex PEM_ASN1_read_bio]]
end

def zlib
  require "zlib"
  streams = Array.new(20) { Zlib::Deflate.new.tap { |stream| stream.deflate("some text " * 1000) } }; line = __LINE__
  abort "zlib does not work" unless Zlib.inflate(Zlib.deflate("some text")) == "some text"
  [streams, line, %w[deflateInit2_]]
end

kept, line, functions = send(CASE)
rows = Charged.rows.select { |row| row.kind == :malloc }
at_line = rows.select { |row| row.line_in(__FILE__) == line }
of_library = at_line.select { |row| row.libraries.any?(LIBRARY) }

ok = ->(name, holds, why) { Tap.report(holds, "#{CASE}: #{name}", holds ? [] : [why.call]) }
bytes = of_library.sum(&:space).round
version = Gem.loaded_specs[CASE].then { |spec| spec ? "#{spec.version} of #{spec.gem_dir.include?("/bundle/") ? "RubyGems" : "Ruby"}" : "no gem" }
ok.("it is the gem", version.end_with?("of RubyGems"), -> { version })
ok.("its memory is charged to the line", bytes > 200_000, -> { "#{bytes} bytes of #{at_line.sum(&:space).round}" })
ok.("a function of it is named", of_library.any? { |row| (row.functions & functions).any? },
    -> { of_library.flat_map(&:functions).tally.max_by(10, &:last).inspect })
most = rows.select { |row| row.libraries.any?(LIBRARY) }.group_by { |row| row.line_in(__FILE__) }.max_by { |_, of| of.sum(&:space) }
ok.("no other line has more of the library's memory", most&.first == line, -> { "line #{most&.first}" })
Tap.plan
$stderr.puts at_line.group_by { |row| [row.libraries.first, row.functions.first(3)] }.map { |key, of| [of.sum(&:space).round, *key] }
                    .sort_by { |of| -of[0] }.first(8).map(&:inspect) if ENV["VERBOSE"]
$stdout.flush
exit!(0) if kept
