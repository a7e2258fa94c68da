require "mkmf"
have_library("pthread")
create_makefile("postponed_job")
