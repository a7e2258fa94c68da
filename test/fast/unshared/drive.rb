# frozen_string_literal: true

# See run. Usage: ruby drive.rb OUT

require "fileutils"
require "heapsample"
require_relative "../../server"

OUT = "#{ARGV.fetch(0)}/profiles"

# The ids of the master and of the worker that has worked.
def serve
  FileUtils.rm_rf(OUT)
  FileUtils.mkdir_p(OUT)
  env = {"OUT" => OUT, "RUBY_HEAP_SAMPLE" => "interval=1k,output=none"}
  puma(File.join(__dir__, "puma.rb"), env, log: "#{File.dirname(OUT)}/puma.log") do |port, master|
    return [master, waits_for(60) { number_at(port, "/work") }]
  end
end

# What is in use, and what of it is not shared any more, by the method that made it.
def shares(profile)
  profile.groups(:method).to_h { |group| [group.key.to_s[/\w+\z/], group] }
end

pids = nil
test("a Puma cluster serves and saves") { pids = serve }
master, worker = pids.map { |pid| HeapSample::Profile.load("#{OUT}/#{pid}.pb.gz") } if pids

if worker
  test("the master inherits nothing, and nothing is missing") { equal([nil, nil], [master.info.inherited_pages, master.info.inherited_missing]) }
  if worker.info.inherited_pages
    of = shares(worker)
    test("a worker does not share what a request wrote to") { assert(of["counted"].unshared.space > 0.95 * of["counted"].slots_space, of["counted"].inspect) }
    test("it shares what nobody wrote to") { assert(of["quiet"].unshared.space < 0.1 * of["quiet"].slots_space, of["quiet"].inspect) }
    test("what it made in the master's free slots was born since") do
      session = of["session"]
      assert(session.unshared.space > 0.5 * session.slots_space, session.inspect)
      equal(session.unshared.space.round, session.unshared_born.round)
      equal(0, of["counted"].unshared_born)
    end
    test("the lines explain most of what is not shared") do
      inherited = worker.info.inherited_pages
      total = worker.groups(:line).total.unshared.space
      puts "# #{inherited}, by lines #{total.round}"
      assert(total.between?(0.4 * inherited[:unshared], 1.1 * inherited[:unshared]), "#{total.round} of #{inherited}")
    end
    test("the report names them") do
      text = worker.report.to_s
      assert(text.match?(/not any more: \d/) && text.match?(/puma\.rb:10 \S*counted/), text)
    end
  else
    puts "# #{worker.info.inherited_missing}"
  end
end
Tap.finish
