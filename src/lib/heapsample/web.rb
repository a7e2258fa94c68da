# frozen_string_literal: true

require "heapsample"
require "stringio"

module HeapSample
  # The memory of the process that answers, for a browser: a Rack application, without Rack.  In config/routes.rb of
  # Rails:
  #
  #   require "heapsample/web"
  #   authenticate(:user, ->(user) { user.admin? }) { mount HeapSample::Web => "/heap" }
  #
  # in a config.ru:
  #
  #   map("/heap") { run HeapSample::Web }
  #
  # It shows names of classes, methods and files, and each request makes the process work: allow only users who may
  # see that.  A GET changes nothing.  A POST of /growth takes the base that a GET of it compares with; it is kept in this
  # process: of several processes each has one of its own.  Requests from pages of other sites are refused.
  # One answer is made at a time, and reused for 5 seconds.
  class Web
    OFF = "Nothing is being sampled in this process. Start Ruby with --heap-sample or RUBY_HEAP_SAMPLE=on, or call " \
          "GC::SampleProfile.start."
    MISSING = "This Ruby has no heap sampler. Use the patched Ruby (see README of the project)."
    NO_BASE = "Process %<pid>d has no base to compare with. Send POST here, or press the button of the index, and reload this page later.\n" \
              "Each process has its own base, and another process may answer the next request.\n"
    FOREIGN = "The request comes from another site. Enter the address, or use the link on the index.\n"
    FRESH = 5   # seconds
    # Path => the method that answers.
    PATHS = {"" => :index, "/page" => :page, "/heap.pb.gz" => :pprof, "/report" => :report, "/growth" => :growth}.freeze
    TEXT = "text/plain; charset=utf-8"
    HTML = "text/html; charset=utf-8"
    TYPES = {page: HTML, pprof: "application/octet-stream"}.freeze
    # What a page may load and do, but for the page of the view, which names the hashes of its own script and style.
    POLICY, FRAMES = "default-src 'none'; base-uri 'none'; form-action 'self'", "frame-ancestors 'self'"
    HEADERS = Ractor.make_shareable({"cache-control" => "no-store", "x-content-type-options" => "nosniff", "x-frame-options" => "SAMEORIGIN",
                                     "referrer-policy" => "same-origin", "content-security-policy" => "#{POLICY}; #{FRAMES}"})
    VIEW_POLICY = /http-equiv="Content-Security-Policy" content="([^"]+)"/
    INDEX = <<~HTML
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><title>Heap of process %<pid>d</title></head>
      <body>
      <h1>Memory of process %<pid>d</h1>
      <ul>
      <li><a href="%<base>s/page">The page</a>: live memory, by line, class and stack</li>
      <li><a href="%<base>s/growth">What grew</a> since the base was taken
      <form method="post" action="%<base>s/growth"><button>Take the base now</button></form></li>
      <li><a href="%<base>s/report">The report</a>, as text</li>
      <li><a href="%<base>s/heap.pb.gz">The profile</a>, for <code>heapsample</code> and <code>go tool pprof</code></li>
      </ul>
      </body></html>
    HTML

    # For `mount HeapSample::Web`: one for the process.
    def self.call(env) = (@own ||= new).call(env)

    # call-seq:
    #   Web.new -> web
    #   Web.new(pid: 4711) { profile } -> web
    #
    # The block takes a profile; nil: nothing is sampled.  Without one it is GC.sample_profile.  +pid+: the process that the
    # profiles are of, where another process answers.
    def initialize(pid: nil, &take)
      @pid = pid
      @take = take || method(:sample)
      @lock = Mutex.new
      @made = {}
    end

    # As Rack has it: the environment of a request, its status, headers and body.  Any thread may call it; a profile is taken with
    # the GVL, as by GC.sample_profile.
    def call(env)
      status, headers, body = respond(env)
      [status, headers.dup, env["REQUEST_METHOD"] == "HEAD" ? [] : body.dup]
    end

    private

    def respond(env)
      name = PATHS[env["PATH_INFO"].to_s.chomp("/")] or return answer(404, "No such page.\n")
      method = env["REQUEST_METHOD"]
      return answer(403, FOREIGN) if name != :index && foreign?(env)
      return take_base(env) if method == "POST" && name == :growth
      return answer(405, "This method is not supported. Use GET.\n", "allow" => name == :growth ? "GET, HEAD, POST" : "GET, HEAD") unless %w[GET HEAD].include?(method)
      return index(env) if name == :index

      method == "HEAD" ? missing || [200, {"content-type" => TYPES.fetch(name, TEXT), **HEADERS}, []] : made(name)
    end

    # Browsers send Sec-Fetch-Site; old ones send Origin only.  A request with neither does not come from a page.
    def foreign?(env)
      site, origin = env.values_at("HTTP_SEC_FETCH_SITE", "HTTP_ORIGIN")
      site ? !%w[same-origin none].include?(site) : origin && !origin.sub(%r{\Ahttps?://}, "").casecmp?(env["HTTP_HOST"].to_s)
    end

    def made(name)
      @lock.synchronize do
        @made.delete_if { |_, (at, _)| now - at > FRESH }
        next @made[name].last if @made[name]

        send(name).tap { |made| @made[name] = [now, made] if made.first == 200 }
      end
    end

    # A process may fork after it has made this object.
    def pid = @pid || Process.pid

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def sample = GC.sample_profile

    # An answer with the reason why there is no profile; nil: there may be one.
    def missing
      return unless @take == method(:sample)

      defined?(GC::SampleProfile) ? (answer(503, "#{OFF}\n") unless GC::SampleProfile.running?) : answer(501, "#{MISSING}\n")
    end

    # With a profile; else with why there is none.
    def profiled
      missing || @take.call&.then { |profile| yield(profile) } || answer(503, "#{OFF}\n")
    end

    def index(env)
      answer(200, format(INDEX, pid: pid, base: escape(env["SCRIPT_NAME"].to_s)), "content-type" => HTML)
    end

    def page
      profiled do |profile|
        html = profile.to_html
        answer(200, html, "content-type" => HTML, "content-security-policy" => "#{html[VIEW_POLICY, 1] || POLICY}; #{FRAMES}")
      end
    rescue View::Missing => e
      answer(501, "#{e.message}\n")
    end

    def report
      profiled { |profile| answer(200, "#{profile.report}\n") }
    end

    def pprof
      profiled do |profile|
        name = "heap-#{pid}-#{Time.now.to_i}.pb.gz"
        profile.save(file = StringIO.new("".b), format: "pb.gz")
        answer(200, file.string, "content-type" => TYPES[:pprof], "content-disposition" => "attachment; filename=\"#{name}\"")
      end
    end

    # The base is as large as a profile, and goes when the next one takes its place.
    def take_base(env)
      @lock.synchronize do
        profiled do |profile|
          @base = profile
          @made.delete(:growth)
          answer(303, "The base is taken.\n", "location" => "#{env["SCRIPT_NAME"]}/growth")
        end
      end
    end

    def growth
      profiled do |profile|
        answer(200, @base ? "Process #{pid}\n\n#{(profile - @base).report}\n" : format(NO_BASE, pid: pid))
      end
    end

    def answer(status, body, headers = {})
      [status, {"content-type" => TEXT, "content-length" => body.bytesize.to_s, **HEADERS, **headers}, [body]]
    end

    def escape(text)
      text.gsub(/[&<>"]/, "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;")
    end
  end
end
