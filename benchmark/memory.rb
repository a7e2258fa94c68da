# The profiler's own memory, as it reports it, by live sample and by stack.
require_relative "support"
require "json"

Bench.title "The profiler's own memory",
  "GC::SampleProfile.stat at the end of $RUBY --heap-sample=interval=T,output=none,seed=1 SCRIPT",
  "a sample: bytes_records / live_samples; a stack: (bytes_stacks + bytes_totals + bytes_names) / stacks.",
  "Tables double as they grow, so a figure can lie between the tightest and twice that.",
  "off against stock: peak resident memory (VmHWM) of the whole process, median of 5."

STAT = <<~'RUBY'
  at_exit { require "json"; puts "", JSON.generate(GC::SampleProfile.stat) }
RUBY
STAT_FILE = File.join(Bench::OUT, "print_stat.rb")
File.write(STAT_FILE, STAT)
STRINGS = ["-e", "A = Array.new(2_000_000) { |i| \"live string \#{i}\" }; GC.start"].freeze
libdir = Bench.run(Bench::STOCK_RUBY, "-rrbconfig", "-e", "print RbConfig::CONFIG['rubylibdir']")
RDOC = [Bench.here("programs/rdoc.rb"), libdir].freeze

rows = { "two million strings" => STRINGS, "rdoc" => RDOC }.flat_map do |name, script|
  %w[512k 64k 4k].map do |interval|
    out = Bench.run(Bench::RUBY, *Bench.sampling(interval), "-r", STAT_FILE, *script)
    stat = JSON.parse(out.lines.last, symbolize_names: true)
    live, stacks = stat.values_at(:live_samples, :stacks)
    by_stack = stat.values_at(:bytes_stacks, :bytes_totals, :bytes_names).sum
    ["#{name}, #{interval}", live, stacks, stat[:sites], stat[:bytes] / 1024, (stat[:bytes_records].fdiv(live)).round,
     by_stack.fdiv(stacks).round, stat.values_at(:bytes_records, :bytes_stacks, :bytes_totals, :bytes_names).map { |b| b / 1024 }.join(" + ")]
  end
end
Bench.table ["", "live samples", "stacks", "sites", "KiB in all", "B a sample", "B a stack", "records + stacks + totals + names, KiB"], rows

HWM = "print File.read('/proc/self/status')[/VmHWM:\\s+(\\d+)/, 1]"
sizes = Bench.interleaved(5, {
  "stock" => -> { Bench.run(Bench::STOCK_RUBY, "--disable=gems", "-e", HWM).to_i },
  "off" => -> { Bench.run(Bench::RUBY, "--disable=gems", "-e", HWM).to_i },
  "on, 512k" => -> { Bench.run(Bench::RUBY, *Bench.sampling("512k"), "--disable=gems", "-e", HWM).to_i },
})
Bench.table ["ruby --disable=gems -e …", "peak resident, KiB"], sizes.map { |name, values| [name, Bench.median(values)] }
