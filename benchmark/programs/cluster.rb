# A server's parent and its workers, in small: they parse, render and convert files of the standard library, and keep the results
# of the last 300 in a cache; one worker also keeps a part of each in a list. Argument: seconds.
require "erb"
require "json"
require "prism"
require "psych"
require "rdoc"
require "ripper"

SECONDS = ARGV.fetch(0).to_f
FILES = Dir["#{RbConfig::CONFIG["rubylibdir"]}/**/*.rb"].sort.first(400)
TABLE = ERB.new("<% rows.each do |row| %><tr><td><%= row.inspect %></td></tr><% end %>")
CACHED = 300
LOG = []

def convert(number)
  source = File.read(FILES[number % FILES.size])[0, 20_000]
  lines = source.lines
  case number % 6
  when 0 then Ripper.sexp(source)
  when 1 then Prism.parse(source).value
  when 2 then JSON.parse(JSON.generate(lines.each_with_index.to_h { |line, index| [index.to_s, line] }))
  when 3 then TABLE.result_with_hash(rows: lines.first(80))
  when 4 then Psych.load(Psych.dump(lines.first(60)))
  else RDoc::Markup::ToHtml.new(RDoc::Options.new).convert(source[0, 3000])
  end
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def work(leaks)
  cache = {}
  (1..).each do |number|
    cache[number % CACHED] = convert(number)
    LOG << cache[number % CACHED].to_s[0, 1000] if leaks && (number % 3).zero?
    sleep 0.01
    break if now > FINISH
  end
end

FINISH = now + SECONDS
workers = [true, false].map { |leaks| fork { work(leaks) } }
120.times { |number| convert(number) }
workers.each { |worker| Process.wait(worker) }
