# frozen_string_literal: true

require "heap_sample"
require "stringio"

module HeapSample
  # The memory of the process that answers, for a browser: a Rack application, without Rack.  In config/routes.rb of
  # Rails:
  #
  #   require "heap_sample/web"
  #   authenticate(:user, ->(user) { user.admin? }) { mount HeapSample::Web => "/heap" }
  #
  # in a config.ru:
  #
  #   map("/heap") { run HeapSample::Web }
  #
  # It shows names of classes, methods and files, and who asks may make the process work: let only those ask who may
  # see that.  Everything is a GET and changes nothing but the base that /growth compares with, which is kept in
  # this process: of several processes each has one of its own.
  class Web
    OFF = "Nothing is being sampled in this process: start Ruby with --heap-sample or RUBY_HEAP_SAMPLE=on, or call " \
          "GC::SampleProfile.start."
    MISSING = "This Ruby has no heap sampler: it is not the patched one (see README of the project)."
    FIRST_LOOK = "This is the first look at process %<pid>d: the next one shows what grew in it since. Where several processes serve,\n" \
                 "another one may answer then, and has a first look of its own: come again.\n"
    # Path => the method that answers.
    PATHS = {"" => :index, "/page" => :page, "/heap.pb.gz" => :pprof, "/report" => :report, "/growth" => :growth}.freeze
    TEXT = "text/plain; charset=utf-8"
    HTML = "text/html; charset=utf-8"
    # The page has its program and its data in itself, and asks for nothing else.
    HEADERS = {"cache-control" => "no-store", "x-content-type-options" => "nosniff", "x-frame-options" => "SAMEORIGIN",
               "referrer-policy" => "no-referrer",
               "content-security-policy" => "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"}.freeze
    INDEX = <<~HTML
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><title>Heap of process %<pid>d</title></head>
      <body style="font: 16px sans-serif; margin: 2em; max-width: 45em">
      <h1>Memory of process %<pid>d</h1>
      <ul>
      <li><a href="%<base>s/page">The page</a>: what is in use, by line, class and stack</li>
      <li><a href="%<base>s/growth">What grew</a> since the last look at this link (the first look is the base)</li>
      <li><a href="%<base>s/report">The report</a>, as text</li>
      <li><a href="%<base>s/heap.pb.gz">The profile</a>, for <code>heapsample</code> and <code>go tool pprof</code></li>
      </ul>
      </body></html>
    HTML

    # For `mount HeapSample::Web`: one for the process.
    def self.call(env) = (@own ||= new).call(env)

    # call-seq:
    #   Web.new -> web
    #   Web.new { profile } -> web
    #
    # The block takes a profile; nil: nothing is sampled.  Without one it is GC.sample_profile.
    def initialize(&take)
      @take = take || method(:sample)
      @looks = Mutex.new
    end

    # As Rack has it: the environment of a request, its status, headers and body.  Any thread may call it; a profile is taken with
    # the GVL, as by GC.sample_profile.
    def call(env)
      return answer(405, "Only GET is answered here.\n", "allow" => "GET, HEAD") unless %w[GET HEAD].include?(env["REQUEST_METHOD"])

      name = PATHS[env["PATH_INFO"].to_s.chomp("/")] or return answer(404, "There is no such page here.\n")
      status, headers, body = send(name, env)
      env["REQUEST_METHOD"] == "HEAD" ? [status, headers, []] : [status, headers, body]
    end

    private

    def sample
      return unless defined?(GC::SampleProfile)

      GC.sample_profile if GC::SampleProfile.running?
    end

    # With a profile; else with why there is none.
    def profiled
      return answer(501, "#{MISSING}\n") if @take == method(:sample) && !defined?(GC::SampleProfile)

      profile = @take.call
      profile ? yield(profile) : answer(503, "#{OFF}\n")
    end

    def index(env)
      answer(200, format(INDEX, pid: Process.pid, base: escape(env["SCRIPT_NAME"].to_s)), "content-type" => HTML)
    end

    def page(_env)
      profiled { |profile| answer(200, profile.to_html, "content-type" => HTML) }
    rescue View::Missing => e
      answer(501, "#{e.message}\n")
    end

    def report(_env)
      profiled { |profile| answer(200, "#{profile.report}\n") }
    end

    def pprof(_env)
      profiled do |profile|
        name = "heap-#{Process.pid}-#{Time.now.to_i}.pb.gz"
        profile.save(file = StringIO.new("".b), format: "pb.gz")
        answer(200, file.string, "content-type" => "application/octet-stream", "content-disposition" => "attachment; filename=\"#{name}\"")
      end
    end

    # The base is as large as a profile, and goes when the next look takes its place.
    def growth(_env)
      profiled do |profile|
        before = @looks.synchronize { @base.tap { @base = profile } }
        next answer(200, FIRST_LOOK % {pid: Process.pid}) unless before

        answer(200, "Process #{Process.pid}\n\n#{(profile - before).report}\n")
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
