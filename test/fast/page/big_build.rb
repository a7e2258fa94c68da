# frozen_string_literal: true

# A raw profile of +count+ stacks about +depth+ frames deep, each a row with a
# allocation_gc and one with totals; the same for the same +seed+.  Stacks share their
# first frames as stacks of an application do: most of them split late.
def big_build(count, depth: 60, seed: 1, taken: 10, gcs: 1000)
  random = Random.new(seed)
  texts = ["", "T_STRING", "T_ARRAY", "T_HASH", "T_OBJECT", *Array.new(300) { |i| "Model#{i}::Record" }]
  first_class, last_class = 5, texts.size - 1
  frames = []
  5_000.times do |i|
    path = i % 3 == 0 ? "/srv/app/models/m#{i % 400}.rb" : "/usr/lib/ruby/gems/3.4.0/gems/gem#{i % 40}-1.#{i % 7}.0/lib/f#{i % 300}.rb"
    texts << "Mod#{i % 211}::Klass#{i % 97}#method_#{i}" << path
    frames << texts.size - 2 << texts.size - 1 << texts.size - 1 << 1 + i % 900 << 0
  end
  interval = 512 * 1024
  nodes = [0, 0]
  path = [0]
  rows = []
  slot_of_ruby = [0, false, 0] # library, malloc, label set
  count.times do
    # Back up a few frames, seldom many, and down again to a leaf of its own.
    up = random.rand < 0.02 ? random.rand(path.size) : [random.rand(1..8), path.size - 1].min
    path.pop(up) if path.size > 1
    target = depth - 10 + random.rand(20)
    while path.size <= target
      nodes << path.last << random.rand(5_000)
      path << nodes.size / 2 - 1
    end
    slot = [40, 80, 160, 320, 640][random.rand(5)]
    weight = 1 / (1 - Math.exp(-slot / interval.to_f))
    estimate = ->(n) { [n, (n * weight).round, (n * weight * slot).round, (n * weight * (weight - 1) * slot * slot).round] }
    inuse = random.rand(1..4)
    site = [path.last, first_class + random.rand(last_class - first_class), 1 + random.rand(4), slot, 0]
    rows << [*site, random.rand(gcs), *slot_of_ruby, *estimate[inuse], *estimate[0], *estimate[0], *estimate[0], 0]
    rows << [*site, nil, *slot_of_ruby, *estimate[0], *estimate[0], *estimate[inuse + 2], *estimate[2], 3]
  end
  started = 1_767_225_600 * 1_000_000_000
  meta = {"format" => 3, "generator" => "heap_sampler", "ruby" => "ruby 3.4.5", "process_id" => 4711,
          "process_start" => "00000000deadbeef", "session" => 1, "started_ns" => started, "taken_ns" => started + taken * 60_000_000_000,
          "gc" => {"count" => gcs, "minor" => gcs - 10, "major" => 10, "last_minor_ns" => started, "last_major_ns" => started},
          "settings" => {"interval" => interval, "first_interval" => interval, "interval_changes" => 0},
          "live_samples" => count, "drops" => {}, "own_bytes" => 1 << 20, "malloc" => {"state" => "off"}, "memsize" => false}
  {meta: meta, texts: texts, frames: frames, nodes: nodes, rows: rows, mappings: []}
end
