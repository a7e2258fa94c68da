# A server of documentation shows a preview of each proposed change. A preview has all its pages in memory and is
# mounted below a path of its own (WEBrick). When the change is accepted, its preview should be unmounted. No code does
# this.
#
# kind: leak
# line: webrick
# keeper: @mount_tab, @tab, SERVER, MountTable, webrick
# gems: webrick 1.9.1
# rate: 1460000
require_relative "../load"
require "stringio"
require "webrick"

class Preview
  def initialize(number)
    @number = number
    @pages = Array.new(40) { |i| ["/page-#{i}", page(i)] }.to_h # LEAK
  end

  def body(path) = @pages.fetch(path) { "#{path} is not a page of change #{@number}" }

  private

  def page(place)
    paragraphs = Array.new(6) { |i| "<p id='p#{i}'>Paragraph #{i} of page #{place}, as change #{@number} has it. #{"The switch is on the left side of the door. " * 12}</p>" }
    "<html><head><title>Page #{place}</title></head><body>#{paragraphs.join}</body></html>" # LEAK
  end
end

SERVER = WEBrick::HTTPServer.new(DoNotListen: true, Logger: WEBrick::Log.new(File::NULL), AccessLog: [])

def propose(number)
  preview = Preview.new(number) # LEAK
  SERVER.mount_proc("/changes/#{number}") { |request, response| response.body = preview.body(request.path_info) } # LEAK KEEPER
end

def get(path)
  request = WEBrick::HTTPRequest.new(SERVER.config)
  request.parse(StringIO.new("GET #{path} HTTP/1.1\r\nHost: docs.example\r\nAccept: text/html\r\n\r\n"))
  WEBrick::HTTPResponse.new(SERVER.config).tap { |response| SERVER.service(request, response) }.body
end

Load.run(80) do |n|
  propose(n / 8) if n % 8 == 0 # LEAK
  get("/changes/#{[(n / 8) - (n % 4), 1].max}/page-#{n % 40}").bytesize if n > 16
end
