# What a reader that shares no code with ours finds in the files that
# test-output left: ruby check_files.rb FOLDER PROFILE.  Exits 1 at a fault.
# Runs on Ruby 2.7 and later.
require "json"
require "zlib"

folder, name = ARGV
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

TYPES = %w[
  alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes inuse_samples/count
  alloc_samples/count inuse_var/bytes2 alloc_var/bytes2 young_objects/count young_space/bytes
  dead_objects/count dead_space/bytes dead_gcs/count
  slots_alloc_objects/count slots_alloc_space/bytes slots_inuse_objects/count slots_inuse_space/bytes
  malloc_alloc_objects/count malloc_alloc_space/bytes malloc_inuse_objects/count malloc_inuse_space/bytes
  inuse_memsize/bytes inuse_resident/bytes dead_samples/count dead_var/bytes2
  holds_free/bytes holds_free_var/bytes2 holds_free_pinned/bytes unshared/bytes unshared_var/bytes2 unshared_born/bytes
]

def check_meta(json, what)
  meta = JSON.parse(json)
  check(meta["format"] == 3 && meta["generator"] == "heap_sampler", "#{what}: format and generator")
  check(meta["settings"].is_a?(Hash) && meta["drops"].is_a?(Hash) && meta["heaps"].is_a?(Array), "#{what}: shape")
  check(%w[on off standby missing].include?(meta["malloc"]["state"]), "#{what}: malloc")
  check(meta["process_start"] =~ /\A\h{16}\z/, "#{what}: process_start")
  meta
end

def check_pprof(bytes, name)
  profile = message(bytes)
  strings = all(profile, 6).map { |s| s.dup.force_encoding("UTF-8") }
  check(strings[0] == "", "pprof: string 0 is not empty")
  check(strings.all?(&:valid_encoding?), "pprof: a string is not UTF-8")
  types = all(profile, 1).map { |t| f = message(t); "#{strings[one(f, 1)]}/#{strings[one(f, 2)]}" }
  check(types == TYPES, "pprof: sample types are #{types}")
  check(strings[one(profile, 14)] == "inuse_space", "pprof: default sample type")
  comments = all(profile, 13).map { |i| strings[i] }
  check(comments.size == 1, "pprof: #{comments.size} comments")
  meta = check_meta(comments[0], "pprof comment")

  locations = all(profile, 4).map { |l| message(l) }
  functions = all(profile, 5).map { |f| message(f) }
  location_ids = locations.map { |l| one(l, 1) }
  function_ids = functions.map { |f| one(f, 1) }
  check(location_ids.uniq == location_ids && !location_ids.include?(0), "pprof: location ids")
  check(function_ids.uniq == function_ids && !function_ids.include?(0), "pprof: function ids")
  lines = locations.map { |l| all(l, 4).map { |line| message(line) } }
  native = locations.map { |l| one(l, 3) > 0 }
  check(lines.zip(native).all? { |l, n| l.size == 1 || (l.empty? && n) }, "pprof: a location has not one line")
  mappings = all(profile, 3).map { |m| message(m) }
  mapping_ids = mappings.map { |m| one(m, 1) }
  check(mapping_ids == [*1..mappings.size], "pprof: mapping ids #{mapping_ids}")
  check(mappings[0] == [[1, 1], [7, 1], [8, 1], [9, 1]], "pprof: Ruby's mapping")
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
  samples.each do |s|
    ids = packed(one(s, 1))
    used_locations |= ids
    check(!ids.empty?, "pprof: a sample without a location")
    values = packed(one(s, 2))
    check(values.size == TYPES.size, "pprof: a sample's values")
    4.times { |i| check(values[i] == values[13 + i] + values[17 + i], "pprof: slots and malloc are not both") }
    all(s, 3).each { |l| check(one(message(l), 1).between?(1, strings.size - 1), "pprof: a label's key") }
  end
  check(used_locations.sort == location_ids.sort, "pprof: locations written are not those used")
  case name
  when "sample"
    check(samples.size == 6, "pprof: rows were merged or lost")
    check(packed(one(samples[0], 2)) == [0, 0, 150, 6000, 2, 0, 1000001, 0, 0, 0, 0, 0, 0, 0, 0, 150, 6000, 0, 0, 0, 0, 0, 6000, 0, 0, 700, 9000, 300, 1200, 8000, 400],
          "pprof: values of row 0")
    check(packed(one(samples[2], 2)) == [401, 16020, 0, 0, 0, 5, 0, 2500000, 0, 0, 150, 6000, 302, 401, 16020] + [0] * 8 +
                                        [2, 1000000] + [0] * 6, "pprof: values of row 2")
    check(one(profile, 9) == 1700000000000000001 && one(profile, 10) == 90500000000, "pprof: times")
    check(one(profile, 12) == 524288, "pprof: period")
    check(!strings.include?("never used"), "pprof: a frame that no row uses")
    check(meta["settings"]["seed"] == "18446744073709551615", "pprof: seed")
  when "malloc"
    check(packed(one(samples[0], 2))[21..22] == [70000, 4000], "pprof: memsize, and slots are resident")
    check(packed(one(samples[2], 2)) == [0, 0, 4, 1000000, 2, 0, 2000000] + [0] * 12 + [4, 1000000, 0, 8192, 0, 0] + [0] * 6,
          "pprof: a row of malloc with a birth")
    check(packed(one(samples[3], 2)) == [18, 4500000, 0, 0, 0, 9, 0, 9000000, 0, 0, 14, 3500000, 29, 0, 0, 0, 0,
                                        18, 4500000, 0, 0, 0, 0, 7, 7000000] + [0] * 6, "pprof: totals of malloc")
    labels = samples[2..3].map do |sample|
      all(sample, 3).to_h { |l| f = message(l); [strings[one(f, 1)], one(f, 3) > 0 ? one(f, 3) : strings[one(f, 2)]] }
    end
    totals = {"class" => "(malloc)", "type" => "(malloc)", "kind" => "malloc", "library" => "libfoo.so.1"}
    check(labels == [totals.merge("gc_birth" => 7, "thread" => 2), totals], "pprof: labels of malloc are #{labels}")
    names = mappings.map { |m| [strings[one(m, 5)], strings[one(m, 6)], one(m, 4), one(m, 7)] }
    check(names == [["", "", 0, 1], ["/usr/lib/libfoo.so.1", "00ff17", 0x3000, 1], ["/usr/lib/libbar;1.so", "", 0, 0],
                    ["[vdso]", "", 0, 1]], "pprof: mappings #{names}")
    native = functions.select { |f| one(f, 3) > 0 }.map { |f| [strings[one(f, 2)], one(f, 4)] }
    check(native == [["foo_new", 0], ["_ZN3foo3newEv", 0], ["(unknown)", 0]], "pprof: native functions #{native}")
  when "huge"
    space = samples.map { |s| packed(one(s, 2))[3] }
    check(space == [2**63 - 1, 2**63 - 1, 0, 2**63 - 1, 2**63 - 1024, -2**63, 0, 1], "pprof: saturation, #{space}")
    check(samples.all? { |s| packed(one(s, 2))[4] == 2**63 - 1 }, "pprof: counts do not saturate")
  end
end

begin
  path = File.join(folder, name)
  pb = File.binread("#{path}.pb")
  check(Zlib::GzipReader.open("#{path}.pb.gz") { |gz| gz.read.b } == pb, "the .pb.gz unpacked is not the .pb")
  check_pprof(pb, name)
rescue => error
  @faults << "#{error.class}: #{error.message} (#{error.backtrace.first})"
end
@faults.uniq.each { |fault| puts "#   #{fault}" }
exit @faults.empty?
