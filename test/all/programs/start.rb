# Runs a gem's program and ends with a full GC, so that live memory does not depend on when the
# last one happened to be. Usage: ruby -rbundler/setup start.rb GEM ARGUMENT…
at_exit { GC.start }
load Gem.bin_path(ARGV[0], ARGV.shift)
