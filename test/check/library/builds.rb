# frozen_string_literal: true

require_relative "held_build"

# The profiles that most tests read.
module Builds
  XML = "!/usr/lib/x86_64-linux-gnu/libxml2.so.2"
  RUBY = "!/opt/ruby/bin/ruby"
  PARSE = "/srv/app/parse.rb:7 Parser#parse"
  MAIN = "/srv/app/main.rb:3 <main>"
  SHOP = "/srv/app/shop.rb"

  module_function

  # The profile that most tests read: every kind of row once.
  def sample_build(**meta)
    foo = "/srv/app/models/x.rb:12"
    main = "/srv/app/main.rb:3 <main>"
    Build.new(**meta)
         .row(["#{foo} Array#map", "#{foo} block in Foo#bar", main], "String", inuse: 96, at_gc: 20, alloc: 200, freed: 104, lived: 2)
         .row(["#{foo} Foo#bar", main], "Array", type: "T_ARRAY", inuse: 4, at_gc: 90)
         .row(["/usr/lib/ruby/gems/3.4.0/gems/model-7.1.2/lib/base.rb:100 Model::Base.new", main], "Ticket",
              slot: 160, type: "T_OBJECT", inuse: 7, young: 3, at_gc: 99, thread: 2)
         .row(["<internal:kernel>:187 Kernel#loop", main], "Hash", slot: 160, type: "T_HASH", young: 3, at_gc: 100)
         .row([], "Object", type: "T_OBJECT", inuse: 1, at_gc: 0)
  end

  # Slots and malloc'd memory under the same lines: 20 MiB of strings' slots, 100
  # buffers of 10 MB that strings have, nodes that a C library made, and what it
  # allocated in a place without a name and on a thread without the GVL.
  def malloc_build(**meta)
    Build.new(**meta)
         .row(["/srv/app/load.rb:12 Loader#read", MAIN], "String", inuse: 40, at_gc: 20, memsize: 1_050_000_000.0)
         .malloc(["#{RUBY} objspace_xmalloc0", "#{RUBY} ruby_xmalloc", "#{RUBY} str_buf_new", "/srv/app/load.rb:12 IO#read",
                  "/srv/app/load.rb:12 Loader#read", MAIN], "ruby", 10_000_000, inuse: 100, ever: 180)
         .malloc(["#{XML} xmlMallocLoc", "#{XML} xmlNewNode", "#{XML} xmlSAX2StartElement", "!/srv/app/nokogiri.so parse",
                  "#{PARSE[0..-14]} Nokogiri.parse", PARSE, MAIN], "libxml2.so.2", 200, inuse: 30, ever: 500)
         .malloc(["#{XML}  @0x7e0000001234", PARSE, MAIN], "libxml2.so.2", 4096, inuse: 5, ever: 5)
         .malloc(["#{XML} xmlNewNode @0x7e0000001999", "(no GVL):0 (no GVL)"], "libxml2.so.2", 64, inuse: 2, ever: 9)
         .mapping(0x7e0000001000, 0x7e0000002000, 0x3000)
  end

  # A constant that keeps tickets through arrays, a hash of sessions that keeps strings, a thread's local, and garbage.
  def held_build(**walk)
    build = Build.new(interval: 4096)
                 .row(["#{SHOP}:12 Ticket.load", "#{SHOP}:99 <main>"], "Ticket", type: "T_OBJECT", slot: 160, inuse: 200, at_gc: 20)
                 .row(["#{SHOP}:14 Ticket#name", "#{SHOP}:99 <main>"], "String", inuse: 100, at_gc: 20)
                 .row(["#{SHOP}:30 Session#open", "#{SHOP}:99 <main>"], "String", inuse: 60, at_gc: 90)
                 .row(["#{SHOP}:40 Worker#run", "#{SHOP}:99 <main>"], "Hash", type: "T_HASH", slot: 160, inuse: 20, young: 10, at_gc: 100)
                 .row(["#{SHOP}:50 Shop#render", "#{SHOP}:99 <main>"], "String", young: 30, at_gc: 100)
                 .blocks(["!/opt/ruby/bin/ruby str_buf_new", "#{SHOP}:30 Session#open", "#{SHOP}:99 <main>"], "ruby", 1000, inuse: 12, alloc: 12, at_gc: 90)
    HeldBuild.new(build, **walk)
             .way(0, ["constant Ticket::ALL", "element [] of Array"])
             .way(1, ["constant Ticket::ALL", "element [] of Array", "ivar @name of Ticket"])
             .way(2, ["constant Session::STORE", "value {} value of Hash", "ivar @data of Session"], part: 0.5)
             .way(2, ["constant Session::STORE", "value {} value of Hash", "ivar @next of Session ×812", "ivar @data of Session"], part: 0.5)
             .way(3, ["root (threads)", "thread_local thread-local :cache", "local local job of block in Worker#run @#{SHOP}:41"])
             .way(4, ["root (not reached)"])
             .way(5, ["constant Session::STORE", "value {} value of Hash", "ivar @data of Session"], "String")
  end
end
