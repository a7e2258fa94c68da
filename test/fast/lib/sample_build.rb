# frozen_string_literal: true

require "build"

# The profile that most tests read: every kind of row once.
def sample_build(**meta)
  foo = "/srv/app/models/x.rb:12"
  main = "/srv/app/main.rb:3 <main>"
  Build.new(**meta)
       .row(["#{foo} Array#map", "#{foo} block in Foo#bar", main], "String", inuse: 96, birth: 20, alloc: 200, dead: 104, lived: 2)
       .row(["#{foo} Foo#bar", main], "Array", type: "T_ARRAY", inuse: 4, birth: 90)
       .row(["/usr/lib/ruby/gems/3.4.0/gems/model-7.1.2/lib/base.rb:100 Model::Base.new", main], "Ticket",
            slot: 160, type: "T_OBJECT", inuse: 7, young: 3, birth: 99, thread: 2)
       .row(["<internal:kernel>:187 Kernel#loop", main], "Hash", slot: 160, type: "T_HASH", young: 3, birth: 100)
       .row([], "Object", type: "T_OBJECT", inuse: 1, birth: 0)
end
