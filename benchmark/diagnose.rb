# How long does the command take with a folder of 180 profiles? Three processes, a profile a second, for a minute.
require "tmpdir"
require_relative "support"

SECONDS = 60
LIBRARY = File.join(Bench::TOP, "src/lib")
READERS = [Bench::RUBY, "/usr/bin/ruby"].select { |ruby| File.executable?(ruby) }
# What each step reads, and how.
STEPS = {
  "what each file says about itself" => "files.each { |file| HeapSample::PprofReader.read_meta(file) }",
  "each file whole" => "files.each { |file| HeapSample::Profile.load(file) }",
  "the diagnosis" => "HeapSample::Diagnosis.of(folder).text.to_s"
}.freeze

# Seconds of CPU time, with a Ruby that is started anew.
def seconds(ruby, step, folder)
  program = "folder = ARGV[0]; files = Dir[folder + '/*.pb.gz']; #{step}; print Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)"
  IO.popen([Bench::ENVIRONMENT, ruby, "--disable=gems", "-I", LIBRARY, "-r", "heapsample", "-e", program, folder], &:read).to_f
end

Dir.mktmpdir("heap-profiles-") do |folder|
  settings = "every=1,interval=3k,diagnose=5%,output=#{folder}/heap-%p-%t.pb.gz"
  system(Bench::ENVIRONMENT.merge("RUBY_HEAP_SAMPLE" => settings), Bench::RUBY, Bench.here("programs/cluster.rb"), SECONDS.to_s, err: File::NULL, exception: true)
  files = Dir["#{folder}/*.pb.gz"]
  Bench.title "A folder of #{files.size} profiles, #{files.sum { |file| File.size(file) } >> 10} KiB",
    "Seconds of CPU time, with those that Ruby takes to start."
  Bench.table ["", *READERS.map { |ruby| `#{ruby} -e 'print RUBY_VERSION'` }],
    STEPS.map { |name, step| [name, *READERS.map { |ruby| format("%.1f", seconds(ruby, step, folder)) }] }
end
