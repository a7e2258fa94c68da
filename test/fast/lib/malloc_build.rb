# frozen_string_literal: true

require "build"

XML = "!/usr/lib/x86_64-linux-gnu/libxml2.so.2"
RUBY = "!/opt/ruby/bin/ruby"
PARSE = "/srv/app/parse.rb:7 Parser#parse"
MAIN = "/srv/app/main.rb:3 <main>"

# Slots and malloc'd memory under the same lines: 20 MiB of strings' slots, 100
# buffers of 10 MB that strings have, nodes that a C library made, and what it
# allocated in a place without a name and on a thread without the GVL.
def malloc_build(**meta)
  Build.new(**meta)
       .row(["/srv/app/load.rb:12 Loader#read", MAIN], "String", inuse: 40, birth: 20, memsize: 1_050_000_000.0)
       .malloc(["#{RUBY} objspace_xmalloc0", "#{RUBY} ruby_xmalloc", "#{RUBY} str_buf_new", "/srv/app/load.rb:12 IO#read",
                "/srv/app/load.rb:12 Loader#read", MAIN], "ruby", 10_000_000, inuse: 100, ever: 180)
       .malloc(["#{XML} xmlMallocLoc", "#{XML} xmlNewNode", "#{XML} xmlSAX2StartElement", "!/srv/app/nokogiri.so parse",
                "#{PARSE[0..-14]} Nokogiri.parse", PARSE, MAIN], "libxml2.so.2", 200, inuse: 30, ever: 500)
       .malloc(["#{XML}  @0x7e0000001234", PARSE, MAIN], "libxml2.so.2", 4096, inuse: 5, ever: 5)
       .malloc(["#{XML} xmlNewNode @0x7e0000001999", "(no GVL):0 (no GVL)"], "libxml2.so.2", 64, inuse: 2, ever: 9)
       .mapping(0x7e0000001000, 0x7e0000002000, 0x3000)
end
