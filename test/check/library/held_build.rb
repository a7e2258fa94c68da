# frozen_string_literal: true

require_relative "build"

# What a walk found, by hand: ways to the rows of a Build, as text.
#
#   held = HeldBuild.new(build)
#   held.way(0, ["constant Report::BADGES", "element [] of Array", "ivar @label of Badge"], "String", objects: 60, space: 2400)
#   held.profile
#
# A way begins with its root's category: "root (constants)" unless it says another.  "local list of block in A#b @app/a.rb:7"
# has a file and a line.
class HeldBuild
  ROOT = "root (constants)"

  def initialize(build, **walk)
    @build = build
    @texts = build.raw[:texts]
    @nodes = []
    @node_ids = {}
    @held = []
    build.meta["kept"] = {"refused" => nil, "ended_in" => nil, "signal" => 0, "objects" => 1_234_567, "edges" => 2_345_678, "hold_up_ns" => 21_000_000, "ns" => 1_700_000_000,
                          "estimate_bytes" => 9_000_000, "child_bytes" => 7_000_000, "evicted" => 0, **walk.transform_keys(&:to_s)}
  end

  # Of the row that is the +row+th, from 0, so much; all of it by default: a +part+ of it.
  def way(row, edges, object = nil, part: 1.0)
    columns = @build.raw[:rows].fetch(row)
    edges = [ROOT, *edges] unless edges.first&.start_with?("root ")
    object ||= @texts[columns[HeapSample::Columns::CLASS]]
    *before, last = edges
    node = node(before.inject(nil) { |parent, text| node(parent, text, "") }, last, edges.size > 1 ? object : "")
    figures = %i[OBJECTS SPACE VARIANCE].map do |figure|
      %i[INUSE YOUNG].sum { |side| columns[HeapSample::Columns.const_get(:"#{side}_#{figure}")] } * part
    end
    @held.push(row, node, *figures)
    self
  end

  # What the sampler hands over.
  def raw = @build.raw.merge(holders: @nodes, kept: @held)

  def profile = HeapSample::Profile.from_raw(raw)

  private

  # "×812" is as many objects, all but one of them folded; "~812" as many, of which none is; "#812" a container of as many entries,
  # "#812, @max of Cache" one that @max limits.
  def node(parent, text, object)
    @node_ids[[parent, text, object]] ||= begin
      kind, name, folded, times, bound, path, line = text.match(/\A(\S+) (.*?)(?: ([×~#])(\d+)(?:, (.+?))?)?(?: @(\S+):(\d+))?\z/m).captures
      number = @nodes.size / 10
      entries, times = times, nil if folded == "#"
      @nodes.push(parent || number, text_id(kind), text_id(name), text_id(object), text_id(path.to_s), line.to_i, (times || 1).to_i, folded == "×" ? times.to_i - 1 : 0,
                  entries ? entries.to_i : 2**32 - 1, bound ? text_id(bound) : 0)
      number
    end
  end

  def text_id(text) = @texts.index(text) || (@texts << text).size - 1
end
