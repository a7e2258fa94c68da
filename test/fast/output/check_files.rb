# What a reader that shares no code with ours finds in the files that
# test-output left: ruby check_files.rb FOLDER PROFILE SCHEMA, where SCHEMA is doc/heap_sampler.proto.  Exits 1 at a fault.
# Runs on Ruby 2.7 and later.
require "zlib"

folder, name, schema = ARGV
@faults = []

def check(passed, what)
  @faults << what unless passed
end

# --- protobuf: [[field, value], ...] of a message ---

def varint(bytes, at)
  value = shift = 0
  loop do
    byte = bytes.getbyte(at) or raise "cut varint"
    value |= (byte & 0x7f) << shift
    at += 1
    return value, at if byte < 0x80
    shift += 7
    raise "long varint" if shift > 63
  end
end

def message(bytes)
  fields, at = [], 0
  while at < bytes.bytesize
    tag, at = varint(bytes, at)
    case tag & 7
    when 0
      value, at = varint(bytes, at)
    when 2
      len, at = varint(bytes, at)
      raise "cut field" if at + len > bytes.bytesize
      value = bytes.byteslice(at, len)
      at += len
    else
      raise "wire type #{tag & 7}"
    end
    fields << [tag >> 3, value]
  end
  fields
end

def all(fields, number)
  fields.select { |field, _| field == number }.map(&:last)
end

def one(fields, number)
  all(fields, number).first || 0
end

def packed(bytes)
  values, at = [], 0
  while at < bytes.bytesize
    value, at = varint(bytes, at)
    values << (value >= 1 << 63 ? value - (1 << 64) : value)
  end
  values
end

TYPES = %w[alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes]

# --- what only our files have, by doc/heap_sampler.proto ---

# Message => {number => [name, type, repeated?, there where it is 0?]}
SCHEMA = File.read(schema).scan(/^message (\w+) \{\n(.*?)^\}/m).to_h do |name, body|
  fields = body.scan(/^  (repeated |optional )?(\w+) (\w+) = (\d+);/)
  [name, fields.to_h { |how, type, field, number| [number.to_i, [field, type, how == "repeated ", how == "optional "]] }]
end
META = %w[Meta GC Forced Settings Drops Heap Malloc Account Jemalloc Alive Threads ThreadsMade Fibers FibersMade Inherited Kept Freed Stuck Pin Merged]

# A message of ours as a Hash of what is there.
def ours(bytes, name)
  message(bytes).each_with_object({}) do |(number, value), found|
    field, type, repeated, = SCHEMA.fetch(name).fetch(number) { next check(number < 1000, "#{name}: field #{number} is not in the page") }
    value = case type
            when "uint64", "int64" then value.is_a?(String) ? packed(value) : value
            when "bool" then value == 1
            when "string" then value.force_encoding("UTF-8")
            else ours(value, type)
            end
    repeated && !value.is_a?(Array) ? (found[field] ||= []) << value : found[field] = value
  end
end

# A name has the same number in all messages.
def check_schema
  numbers = SCHEMA.values_at(*META).flat_map { |fields| fields.map { |number, (name, *)| [name, number] } }.uniq
  check(numbers.map(&:first).uniq.size == numbers.size && numbers.map(&:last).uniq.size == numbers.size, "the page: a name has two numbers, or a number two names")
end

def check_meta(meta, what)
  check(meta["format"] == 1 && meta["generator"] == "heap_sampler", "#{what}: format and generator")
  check(meta["settings"].is_a?(Hash) && meta["drops"].is_a?(Hash), "#{what}: shape")
  check(%w[on off standby missing].include?(meta["malloc"]["state"]), "#{what}: malloc")
  check(meta["process_start"] =~ /\A\h{16}\z/, "#{what}: process_start")
end

META_OF_SAMPLE = {
  "format" => 1, "generator" => "heap_sampler", "ruby" => "ruby 3.4.5 \"test\"", "process_id" => 4242, "process_start" => "0000000000abcdef",
  "parent_id" => 17, "title" => "puma \"w\"", "host" => "web-1", "deploy" => "v1.4.2", "session" => 1, "started_ns" => 1700000000000000001,
  "taken_ns" => 1700000090500000001, "objects" => 2000, "reason" => "asked",
  "gc" => {"count" => 9, "minor" => 7, "major" => 2, "last_major_ns" => 1700000080000000000, "last_major_gc" => 8, "times" => [1, 1699999999000, 0, 8, 81000, 2],
           "majors" => [3, 1699999999250, 1000, 8001, 200, 14, 2, 500, 50, 0, 5, 4, 1, 0, 0, 1000, 0, 0],
           "log" => [8, 1699999999000, 8, 2, 6, 9000, 1000, 2500, 70000, 900, 40, 1000, 8000, 1, 81000, 1, 0, 1, 1, 0, 7, 800, 20, 1, 400, 40],
           "causes" => [{"reason" => "malloc", "gcs" => 3, "ns" => 1500, "longest_stop_ns" => 7000},
                        {"reason" => "oldgen", "gcs" => 6, "ns" => 10000000, "longest_stop_ns" => 2500000}], "cpu_ns" => 400000000},
  "forced" => {"limit_ppm" => 10000, "gcs" => 3, "gc_ns" => 41000000, "walks" => 2, "walk_ns" => 230000000, "longest_stop_ns" => 12000000,
               "of_ns" => 90000000000, "last" => "over_budget"},
  "settings" => {"interval" => 524288, "first_interval" => 262144, "interval_changes" => 1, "thinnings" => 0, "interval_auto" => false,
                 "max_samples" => 200000, "only_n" => 1, "seed" => "18446744073709551615"},
  "live_samples" => 6, "drops" => {"samples" => 1, "stacks" => 2, "frames" => 3, "classes" => 4, "moves" => 5}, "own_bytes" => 65536,
  "heaps" => [{"slot_size" => 40, "total_slots" => 1000, "live_slots" => 900, "live_at_start" => 10},
              {"slot_size" => 80, "total_slots" => 500, "live_slots" => 400, "live_at_start" => 20, "pages" => 10, "pinned_pages" => 3, "held_slots" => 320,
               "compact_bytes" => 393216}],
  "malloc" => {"state" => "missing", "interval_changes" => 0, "thinnings" => 0, "interval_auto" => false}, "memsize" => false,
  "inherited" => {"bytes" => 1048576, "unshared" => 4096}
}

# Rows of a sample, with texts; the rows of all samples add up to the sample's values.
def rows_of(sample, strings, what)
  rows = all(sample, 1000).map { |row| ours(row, "Row") }
  sums = %w[alloc_objects alloc_space inuse_objects inuse_space].map { |name| [rows.sum { |row| row[name] || 0 }, 2**63 - 1].min }
  check(packed(one(sample, 2)) == sums, "#{what}: a sample's values are #{packed(one(sample, 2))}, its rows' #{sums}")
  rows.each { |row| row["type"] = strings[row["type"]] if row["type"] }
end

def check_pprof(bytes, name)
  profile = message(bytes)
  strings = all(profile, 6).map { |s| s.dup.force_encoding("UTF-8") }
  check(strings[0] == "", "pprof: string 0 is not empty")
  check(strings.all?(&:valid_encoding?), "pprof: a string is not UTF-8")
  types = all(profile, 1).map { |t| f = message(t); "#{strings[one(f, 1)]}/#{strings[one(f, 2)]}" }
  check(types == TYPES, "pprof: sample types are #{types}")
  check(strings[one(profile, 14)] == "inuse_space", "pprof: default sample type")
  check(all(profile, 13).empty?, "pprof: a comment")
  check(all(profile, 1000).size == 1, "pprof: #{all(profile, 1000).size} Metas")
  check_meta(meta = ours(all(profile, 1000)[0], "Meta"), "pprof Meta")

  locations = all(profile, 4).map { |l| message(l) }
  functions = all(profile, 5).map { |f| message(f) }
  location_ids = locations.map { |l| one(l, 1) }
  function_ids = functions.map { |f| one(f, 1) }
  check(location_ids.uniq == location_ids && !location_ids.include?(0), "pprof: location ids")
  check(function_ids.uniq == function_ids && !function_ids.include?(0), "pprof: function ids")
  lines = locations.map { |l| all(l, 4).map { |line| message(line) } }
  ruby_code = 2**62..2**62 + 2**53
  native = locations.map { |l| !ruby_code.cover?(one(l, 3)) }
  addresses = locations.map { |l| one(l, 3) }
  check(addresses.uniq == addresses && !addresses.include?(0), "pprof: two locations have one address")
  check(lines.zip(native).all? { |l, n| l.size == 1 || (l.empty? && n) }, "pprof: a location has not one line")
  mappings = all(profile, 3).map { |m| message(m) }
  mapping_ids = mappings.map { |m| one(m, 1) }
  check(mapping_ids == [*1..mappings.size], "pprof: mapping ids #{mapping_ids}")
  check(mappings[0] == [[1, 1], [2, ruby_code.min], [3, ruby_code.max], [7, 1], [8, 1], [9, 1]], "pprof: Ruby's mapping")
  locations.zip(native) do |l, n|
    next check(one(l, 2) == 1, "pprof: Ruby code in another mapping") unless n
    next check(!all(l, 4).empty?, "pprof: code in no mapping without a name") if one(l, 2).zero?
    mapping = mappings[one(l, 2) - 1]
    check(one(l, 3).between?(one(mapping, 2), one(mapping, 3) - 1), "pprof: an address outside its mapping")
    check(one(mapping, 7).zero?, "pprof: a mapping says that all have names") if all(l, 4).empty?
  end
  used_functions = lines.flatten(1).map { |l| one(l, 1) }.uniq
  check(used_functions.sort == function_ids.sort, "pprof: functions written are not those used")
  functions.each do |f|
    check(strings[one(f, 2)].to_s != "", "pprof: a function's name")
    check([0, one(f, 2)].include?(one(f, 3)), "pprof: a function's system name")
    check(one(f, 4) < strings.size, "pprof: a filename outside the table")
  end

  samples = all(profile, 2).map { |s| message(s) }
  used_locations = []
  identities = samples.map do |s|
    ids = packed(one(s, 1))
    used_locations |= ids
    check(!ids.empty?, "pprof: a sample without a location")
    all(s, 3).each { |l| check(one(message(l), 1).between?(1, strings.size - 1), "pprof: a label's key") }
    [ids, all(s, 3)]
  end
  check(identities.uniq == identities, "pprof: two samples agree in stack and labels")
  check(used_locations.sort == location_ids.sort, "pprof: locations written are not those used")
  rows = samples.map { |s| rows_of(s, strings, "pprof") }
  frames = ->(sample) { packed(one(sample, 1)).map { |id| f = functions[function_ids.index(one(lines[location_ids.index(id)][0], 1))]; strings[one(f, 2)] } }
  labels = ->(sample) { all(sample, 3).to_h { |l| f = message(l); [strings[one(f, 1)], strings[one(f, 2)]] } }
  case name
  when "sample"
    check(meta == META_OF_SAMPLE, "pprof: Meta is #{meta}")
    check(samples.size == 4, "pprof: #{samples.size} samples")
    string = {"type" => "T_STRING", "slot_size" => 40}
    check(rows[1] == [
      string.merge("alloc_samples" => 5, "alloc_objects" => 401, "alloc_space" => 16020, "alloc_variance" => 2498560, "freed_samples" => 2,
                   "freed_objects" => 150, "freed_space" => 6000, "freed_variance" => 1000448, "freed_gcs" => 302),
      string.merge("allocation_gc" => 0, "thread" => 1, "inuse_samples" => 2, "inuse_objects" => 150, "inuse_space" => 6000, "inuse_variance" => 1000448,
                   "holds_free" => 700, "holds_free_variance" => 9008, "holds_free_pinned" => 300, "unshared" => 1200, "unshared_variance" => 8000, "unshared_allocated" => 400),
      string.merge("allocation_gc" => 7, "thread" => 2, "inuse_samples" => 1, "inuse_objects" => 75, "inuse_space" => 3000, "inuse_variance" => 500224,
                   "young_samples" => 1, "young_objects" => 75, "young_space" => 3000, "young_variance" => 500224)
    ], "pprof: rows are #{rows[1]}")
    check(labels[samples[1]] == {"class" => "String"}, "pprof: labels are #{labels[samples[1]]}")
    check(one(profile, 9) == 1700000000000000001 && one(profile, 10) == 90500000000, "pprof: times")
    check(one(profile, 12) == 524288, "pprof: period")
    check(!strings.include?("never used"), "pprof: a frame that no row uses")
  when "walked"
    references = all(profile, 1001).map { |reference| ours(reference, "Reference").to_h { |field, value| [field, %w[name kind path].include?(field) ? strings[value] : value] } }
    check(references == [{"name" => "(constants)", "kind" => "root", "objects" => 900},
                         {"parent" => 1, "name" => "Ticket::ALL", "kind" => "constant", "path" => "/srv/lib/ticket.rb", "line" => 1, "objects" => 1},
                         {"parent" => 2, "name" => "@next of Ticket", "kind" => "ivar", "objects" => 812, "repeats" => true},
                         {"name" => "(not reached)", "kind" => "root"}], "pprof: references are #{references}")
    check(rows[1].map { |row| row["part"] } == [nil, [{"reference" => 3, "objects" => 100, "space" => 4016, "variance" => 700000},
                                                     {"reference" => 4, "objects" => 50, "space" => 1984, "variance" => 300000}],
                                               [{"reference" => 2, "objects" => 150, "space" => 6000, "variance" => 1000000}]], "pprof: parts are #{rows[1].map { |row| row["part"] }}")
    freed = [{"chain" => ["(constants)", "Ticket::ALL", "@next of Ticket"], "path" => "", "line" => 0, "objects" => 900, "space" => 36000, "var" => 5000000}]
    check(meta["kept"].values_at("freed", "objects", "room_bytes", "cgroup") == [freed, 4711, 1 << 20, "/app"], "pprof: kept is #{meta["kept"]}")
  when "freed"
    found = samples.zip(rows).to_h { |sample, list| [[frames[sample], packed(one(sample, 1)).size > 1 && one(lines[location_ids.index(packed(one(sample, 1))[0])][0], 2)], list] }
    whole = found.keys.select { |names, _| names == %w[Boot#load <main>] }.map(&:last).sort
    check(whole == [10, 12, 14, 16], "pprof: whole stacks are of lines #{whole}")
    cut = found.select { |(names, _), _| names == ["Boot#load", "(evicted)"] }
    check(cut.size == 150 && cut[[["Boot#load", "(evicted)"], 8]].map { |row| row["alloc_space"] } == [800], "pprof: cut stacks are #{cut.keys}")
  when "malloc"
    check(rows[0].last.values_at("memsize", "resident") == [70000, nil], "pprof: memsize, and slots are resident")
    check(rows[1] == [{"type" => "(malloc)", "alloc_samples" => 9, "alloc_objects" => 18, "alloc_space" => 4500000, "alloc_variance" => 8994816, "freed_samples" => 7,
                       "freed_objects" => 14, "freed_space" => 3500000, "freed_variance" => 6995968, "freed_gcs" => 29, "resident" => 0}.reject { |name, _| name == "resident" },
                      {"allocation_gc" => 7, "thread" => 2, "type" => "(malloc)", "inuse_samples" => 2, "inuse_objects" => 4, "inuse_space" => 1000000,
                       "inuse_variance" => 2000896, "resident" => 8192}], "pprof: rows of malloc are #{rows[1]}")
    check(labels[samples[1]] == {"class" => "(malloc)", "kind" => "malloc", "library" => "libfoo.so.1"}, "pprof: labels of malloc are #{labels[samples[1]]}")
    names = mappings.map { |m| [strings[one(m, 5)], strings[one(m, 6)], one(m, 4), one(m, 7)] }
    check(names == [["", "", 0, 1], ["/usr/lib/libfoo.so.1", "00ff17", 0x3000, 1], ["/usr/lib/libbar;1.so", "", 0, 0],
                    ["[vdso]", "", 0, 1]], "pprof: mappings #{names}")
    native = functions.select { |f| one(f, 3) > 0 }.map { |f| [strings[one(f, 2)], one(f, 4)] }
    check(native == [["foo_new", 0], ["_ZN3foo3newEv", 0], ["(unknown)", 0]], "pprof: native functions #{native}")
  when "huge"
    most = 2**63 - 1
    space = rows.map { |list| list.map { |row| row["inuse_space"] } }
    check(space == [[most], [most], [nil], [most], [most - 1023], [nil], [nil], [1]], "pprof: saturation, #{space}")
    check(rows.all? { |list| list.all? { |row| row["inuse_samples"] == most && row["allocation_gc"] == most } }, "pprof: counts do not saturate")
  end
end

begin
  check_schema
  path = File.join(folder, name)
  pb = File.binread("#{path}.pb")
  check(Zlib::GzipReader.open("#{path}.pb.gz") { |gz| gz.read.b } == pb, "the .pb.gz unpacked is not the .pb")
  check_pprof(pb, name)
rescue => error
  @faults << "#{error.class}: #{error.message} (#{error.backtrace.first})"
end
@faults.uniq.each { |fault| puts "#   #{fault}" }
exit @faults.empty?
