require "mkmf"
create_makefile("newobj_hook")
