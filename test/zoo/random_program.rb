# frozen_string_literal: true

require "objspace"
require "set"
require_relative "../../benchmark/verdict/draws"

# A program of the zoo that is drawn from a seed: what leaks, if anything, and how fast; caches that fill; garbage as well,
# a heap of long-lived objects, the load, one or two processes. Its heading has the truth, see header.rb.
class RandomProgram
  KIB = 1 << 10
  MIB = 1 << 20
  SECONDS = 62
  LEAKS = 0.55 # of the programs
  FOLDER = "build/zoo/random" # from the top of the checkout

  # What is made: code that makes one, with the number of the request in n and the number of the object in i.
  UNITS = {
    "String" => ->(size) { "\"\#{n}-\#{i} \" + \"s\" * #{size}" },
    "Array" => ->(size) { "Array.new(#{[size / 60, 1].max}) { |k| \"line \#{k} of \#{n}, and some more\" }" },
    "Hash" => ->(size) { "{ id: n, name: \"item \#{n}\", text: \"t\" * #{size}, tags: [n, i] }" },
    "Struct" => ->(size) { "Record.new(n, \"record \#{n}\", \"b\" * #{size})" },
    "Object" => ->(size) { "Session.new(n, \"token \#{n}\", \"d\" * #{size})" },
  }.freeze

  # What holds it: how it begins, code that adds a unit, and bytes that it needs for each (measured).
  CONTAINERS = {
    "Array" => ["[]", "@held << unit", 10],
    "Hash" => ["{}", "@held[n * 10_000 + i] = unit", 42],
    "Set" => ["Set.new.compare_by_identity", "@held.add(unit)", 42],
    "Hash of Arrays" => ["Hash.new { |hash, key| hash[key] = [] }", "@held[n % 97] << unit", 12],
    "linked list" => ["nil", "@held = [unit, @held]", 40],
    "closures" => ["[]", "@held << -> { unit }", 150],
    "Thread::Queue" => ["Thread::Queue.new", "@held << unit", 10],
  }.freeze

  # A class that holds something.  kind: :leak, :lru, :ttl; rate: bytes a second that are added at the full load
  Part = Struct.new(:name, :kind, :unit, :container, :rate, :bytes, :often, :limit, keyword_init: true)

  attr_reader :seed, :parts, :load, :churn, :ballast

  def initialize(seed)
    @seed = seed
    @draws = Draws.new(seed * 7_919 + 17)
    @requests = @draws.scale(20, 200).round
    @load = draw_load
    @leaks = @draws.chance?(LEAKS)
    @parts = draw_parts
    @churn = @draws.chance?(0.15) ? 0 : @draws.scale(100 * KIB, 1000 * MIB)
    @ballast = @draws.scale(5 * MIB, 2000 * MIB) # and Ruby's own 15
    @processes = @draws.chance?(0.25) ? 2 : 1
    @only_first = @processes == 2 && @draws.chance?(0.5)
  end

  def name = format("random_%04d", seed)
  def leaks? = @leaks

  # Bytes that leak a second, in all processes, on average over the run.
  def rate = (leaking.sum(&:rate) * mean_load * (@only_first ? 1 : @processes)).round

  # Seconds after which all that fills has filled; nil: it does not within the run.
  def settles = filling.map { |part| part.kind == :ttl ? part.limit : second_of(part.limit * part.bytes / part.rate) }.then { |all| all.include?(nil) ? SECONDS : all.max || 0 }.ceil

  def write(top)
    File.join(top, FOLDER, "#{name}.rb").tap { |path| File.write(path, to_s) }
  end

  def to_s = [heading, constants, *parts.map { |part| code(part) }, garbage, main].join("\n")

  private

  def leaking = parts.select { |part| part.kind == :leak }
  def filling = parts.reject { |part| part.kind == :leak }

  # --- what is drawn

  # Code of a lambda: requests in a second of the program's life.
  def draw_load
    at = @draws.between(20, 40).round
    pause = @draws.between(6, 15).round
    usual = "->(_second) { #{@requests} }"
    @draws.one_of([usual, usual,
                   "->(second) { second < #{at} ? #{@requests} : 0 }",
                   "->(second) { second.between?(#{at}, #{at + pause}) ? 0 : #{@requests} }",
                   "->(second) { #{@requests} * (0.5 + second / #{2 * SECONDS}) }",
                   "->(second) { #{@requests} * (second % #{pause} < #{pause / 2} ? 1.6 : 0.4) }"])
  end

  def requests_at = @requests_at ||= eval(load) # -- its own text
  def mean_load = (0...SECONDS).sum { |second| requests_at.(second.to_f).fdiv(@requests) } / SECONDS

  # The second at which so many seconds of full load are done.
  def second_of(full)
    done = 0.0
    (0...SECONDS).find { |second| (done += requests_at.(second.to_f).fdiv(@requests)) >= full }
  end

  def draw_parts
    kinds = @leaks ? [:leak] * @draws.one_of([1, 1, 2, 3]) : []
    kinds += @draws.one_of([[], [], [:lru], [:ttl]] + (@leaks ? [] : [[:lru], [:ttl], %i[lru ttl], %i[lru lru]]))
    rate = @draws.scale(KIB, 10 * MIB)
    kinds.each_with_index.map { |kind, index| draw_part("Store#{index + 1}", kind, kind == :leak ? rate / kinds.count(:leak) : @draws.scale(10 * KIB, 3 * MIB)) }
  end

  # About rate / requests bytes a request, as one or some units, or a unit every so many requests.
  def draw_part(name, kind, rate)
    container = @draws.one_of(CONTAINERS.to_a)
    name_of_unit, unit = @draws.one_of(UNITS.to_a)
    per_request = rate / @requests
    size = @draws.scale(30, 4000).clamp(nil, [per_request, 30].max).round
    code = unit.(size)
    bytes = bytes_of(code) + container[1][2]
    often = per_request / bytes
    limit = kind == :lru ? [rate * @draws.scale(3, 45) / bytes, 10].max.round : @draws.scale(4, 40).round
    Part.new(name: name, kind: kind, unit: [name_of_unit, code], container: container, rate: rate, bytes: bytes, often: often, limit: limit)
  end

  Record = Struct.new(:id, :name, :data)
  Session = Class.new do
    attr_reader :id, :token, :data

    def initialize(id, token, data) = (@id, @token, @data = id, token, data)
  end

  # Bytes of the object that the code makes, and of those in it.
  def bytes_of(code)
    memory(eval("n = i = 12_345; #{code}")) # -- one of UNITS
  end

  def memory(object)
    inner =
      case object
      when Array then object
      when Hash then object.values
      when Struct then object.to_a
      else object.instance_variables.map { |name| object.instance_variable_get(name) }
      end
    return 0 if object.is_a?(Integer) || object.is_a?(Symbol)

    ObjectSpace.memsize_of(object) + inner.sum { |each| memory(each) }
  end

  # --- the text

  def heading
    [*words.map { |line| "# #{line}" }, "#", "# kind: #{leaks? ? "leak" : "steady"}", *("# rate: #{rate}" if leaks?), *("# settles: #{settles}" if filling.any? && !leaks?),
     "# seconds: #{SECONDS}", "require \"set\"", "require_relative \"../../../test/zoo/load\"", "require_relative \"../../../test/zoo/workers\"", ""]
  end

  def words
    what = parts.map do |part|
      { leak: "#{part.name} leaks #{shown(part.rate)}/s (#{part.unit[0]} in #{part.container[0]})", lru: "#{part.name} is a cache of #{part.limit} entries",
        ttl: "#{part.name} forgets after #{part.limit} s" }.fetch(part.kind)
    end
    ["Drawn from seed #{seed} by test/zoo/random. #{what.empty? ? "Nothing is kept" : what.join("; ")}.",
     "Garbage: #{shown(@churn)}/s; long-lived objects: #{shown(@ballast)}; processes: #{@processes}#{", of which the first leaks or fills" if @only_first}."]
  end

  def shown(bytes) = bytes < MIB ? "#{(bytes / KIB).round} KiB" : "#{(bytes / MIB).round(1)} MiB"

  def constants
    piece = @ballast > 200 * MIB ? 3000 : 300
    ["Record = Struct.new(:id, :name, :data)", "class Session", "  attr_reader :id, :token, :data", "",
     "  def initialize(id, token, data) = (@id, @token, @data = id, token, data)", "end", "",
     "LONG_LIVED = Array.new(#{(@ballast / (piece + 60)).round}) { |i| \"\#{i} \" + \"l\" * #{piece} }", ""]
  end

  def code(part)
    leak, keeper = part.kind == :leak ? [" # LEAK", " # LEAK KEEPER"] : ["", ""]
    first, add = part.kind == :leak ? part.container[1] : { lru: ["{}", "@held[n * 10_000 + i] = unit"], ttl: ["[]", "@held << [Load.seconds, unit]"] }.fetch(part.kind)
    forget = { lru: "    @held.shift if @held.size > #{part.limit}", ttl: "    @held.shift while @held.any? && @held[0][0] < Load.seconds - #{part.limit}" }[part.kind]
    # often: how many units a request adds; below 1 a unit every so many requests
    ["class #{part.name}", "  def initialize = @held = #{first}", "",
     "  def request(n) = count(n).times { |i| add(n, i) }#{leak}",
     "  def count(n) = (n * #{part.often.round(6)}).floor - ((n - 1) * #{part.often.round(6)}).floor", "",
     "  def add(n, i)", "    unit = #{part.unit[1]}#{leak}", "    #{add}#{keeper}", *forget, "  end", "end", ""]
  end

  def garbage
    per_request = @churn / @requests
    piece = @draws.scale(50, 20_000).clamp([per_request / 500, 50].max, nil).round
    ["def garbage = Array.new(#{(per_request / (piece + 40)).round}) { |i| \"g\" * #{piece} }.size", ""]
  end

  def main
    names = parts.map(&:name)
    stores = "STORES = [#{names.map { |name| "#{name}.new" }.join(", ")}].freeze"
    request = "  STORES.each { |store| store.request(n) }#{" if index.zero?" if @only_first}#{" # LEAK" if leaks?}"
    body = ["Load.run(#{load}) do |n|#{" # LEAK" if leaks?}", "  garbage", request, "end"]
    return [stores, *body, ""] if @processes == 1

    [stores, "Workers.run(#{@processes}) do |#{@only_first ? "index" : "_index"}|", *body.map { |line| "  #{line}" }, "end", ""]
  end
end
