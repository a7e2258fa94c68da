# Stands in for ruby-bench's harness while `benchmark/run real` measures: a benchmark does as many iterations as
# BENCH_ITERATIONS says, no more and no fewer, and nothing else in its process takes time or memory.
# With BENCH_SETUP it installs the benchmark's gems, runs its set-up command and ends.

Random.srand(1337) # as ruby-bench's own does

def make_shareable(object, copy: false) = Ractor.make_shareable(object, copy:)

def use_gemfile(extra_setup_cmd: nil)
  if ENV["BENCH_SETUP"]
    ok = system("bundle", "install", "--jobs", "2") && (extra_setup_cmd.nil? || system(extra_setup_cmd))
    exit(ok ? 0 : 1)
  end
  require "bundler"
  Bundler.setup
end

def run_benchmark(_hint, **)
  exit if ENV["BENCH_SETUP"]
  Integer(ENV.fetch("BENCH_ITERATIONS")).times { yield }
end
