# frozen_string_literal: true

# A sampled program that saves its own profile as a page: ruby save.rb PATH
path, = ARGV
kept = Array.new(20_000) { |i| "s#{i}" * 10 }
GC.start
profile = GC.sample_profile
abort("another size") unless profile.save(path) == File.size(path)
abort("not the page that to_html makes") unless File.binread(path) == profile.to_html

before = Dir.children(File.dirname(path)).sort
begin
  profile.save("#{path}/x.html")
  abort("it must raise")
rescue Errno::ENOTDIR
  abort("something is left over") unless Dir.children(File.dirname(path)).sort == before
end
begin
  profile.save("x.htm")
  abort("it must raise")
rescue ArgumentError => e
  abort(e.message) unless e.message.include?(".json or .html: x.htm")
end
abort unless kept.size == 20_000
