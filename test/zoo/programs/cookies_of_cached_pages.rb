# Large: a magazine has its 3,600 articles as rendered pages in memory. A page is a whole response of Rack, with its
# headers. A middleware in front of the pages adds the session of the visitor, as a cookie, to the headers of the
# response. These are the headers of the stored page, so each page gets the cookies of all its visitors.
#
# kind: leak
# line: rack/utils
# keeper: @pages, PAGES, Pages, set-cookie, rack/utils
# gems: rack 3.1.12
# starts: 5
# rate: 760000
require_relative "../load"
require "json"
require "rack"

class Pages
  def initialize(count)
    @pages = Array.new(count) { |i| ["/articles/#{i}", page(i)] }.to_h
  end

  def call(env)
    @pages.fetch(env["PATH_INFO"]) { [404, { "content-type" => "text/plain" }, ["no such article"]] }
  end

  private

  def page(number)
    body = Array.new(44) { |i| "<p>Paragraph #{i} of article #{number}: #{"the council has talked about the bridge at the mill, " * 60}#{number * i % 977}</p>\n" }
    [200, { "content-type" => "text/html", "content-length" => body.sum(&:bytesize).to_s, "etag" => "\"#{number * 7_919}\"" }, body]
  end
end

class Sessions
  def initialize(app) = @app = app

  def call(env)
    response = @app.call(env)
    Rack::Utils.set_cookie_header!(response[1], "session", { value: session(env), path: "/", httponly: true }) # LEAK KEEPER
    response
  end

  private

  # The session as a cookie: what the visitor has read.
  def session(env)
    visitor = env["HTTP_X_VISITOR"].to_i
    read = Array.new(22) { |i| { article: visitor * (i + 31) % 3_600, paragraph: i * visitor % 44 } }
    [JSON.generate({ visitor: visitor, read: read })].pack("m0")
  end
end

PAGES = Pages.new(3_600)
MAGAZINE = Sessions.new(PAGES)

Load.run(700) do |n|
  env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/articles/#{n * 7_919 % 3_600}", "HTTP_X_VISITOR" => n.to_s }
  _, headers, body = MAGAZINE.call(env) # LEAK
  "#{headers["etag"]} #{body.first.bytesize}"
end
