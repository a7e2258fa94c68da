# Invoices are converted to XML of partners. The compiled XSLT stylesheets are in a class variable, under a key with the time of the
# request. Most of their memory is malloc'ed by libxml2 and libxslt.
#
# kind: native
# also: leak
# line: nokogiri
# keeper: @@stylesheets, Export
# gems: nokogiri 1.19.3
# rate: 3400000
require_relative "../load"
require "nokogiri"

class Export
  @@stylesheets = {}
  RULES = Array.new(40) { |i| "<xsl:template match='field#{i}'><f#{i}><xsl:value-of select='@value'/></f#{i}></xsl:template>" }.join
  SOURCE = "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>" \
           "<xsl:template match='/'><out><xsl:apply-templates select='//item/*'/></out></xsl:template>#{RULES}</xsl:stylesheet>".freeze

  def self.compiled = Nokogiri::XSLT(SOURCE) # LEAK

  def self.stylesheet(partner, time)
    @@stylesheets["#{partner}/#{time}"] ||= compiled # LEAK KEEPER
  end

  def self.invoice(number)
    Nokogiri::XML("<items>#{Array.new(20) { |i| "<item><field#{i % 40} value='#{number}'/></item>" }.join}</items>")
  end
end

Load.run(20) do |n|
  Export.stylesheet("partner-#{n % 5}", n / 2).transform(Export.invoice(n)).to_s # LEAK
end
