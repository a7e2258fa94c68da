# RDoc over parts of MRI's standard library. Usage: ruby rdoc.rb LIBDIR
require "rdoc"
require "tmpdir"

libdir = ARGV[0]
Dir.mktmpdir do |dir|
  files = %w[optparse.rb fileutils.rb set.rb pp.rb uri].map { |name| File.join(libdir, name) }
  RDoc::RDoc.new.document(["--quiet", "--ri", "--force-output", "--op", File.join(dir, "ri"), *files])
end
print GC.count
