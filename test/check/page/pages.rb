# frozen_string_literal: true

# Writes the data of pages as the library puts it into them, NAME.data, and the figures of the library for the same profiles as JSON.
#
#   ruby -I src/lib pages.rb FOLDER
require "json"
require_relative "profiles"

include PageProfiles

FOLDER, = ARGV
TEMPLATE = File.join(FOLDER, "template.html")
File.write(TEMPLATE, "<!--title-->\n<!--data-->")

def page(name, subject, **options)
  data = HeapSample::View.new(subject, root: ROOT, template: TEMPLATE, **options).to_s.lines.last
  File.write(File.join(FOLDER, "#{name}.data"), data)
end

# Estimates of few and many samples, small and large weights, and their intervals.
def intervals
  [1, 2, 5, 19, 99, 100, 5_000].product([1.00001, 1.5, 40.0, 13_107.7], [1, 40, 640.0]).map do |count, weight, size|
    total = count * weight * size
    variance = count * weight * (weight - 1) * size * size
    [[total, variance, size], HeapSample::Statistics.interval(total: total, variance: variance, size: size)]
  end
end

mixed = PageProfiles.mixed.profile
blocks = PageProfiles.blocks
series = Array.new(5) { |step| series_profile(step) }
many = [many_profile(0), many_profile(1)]
kept = held_build.profile
page("mixed", mixed)
page("blocks", blocks)
page("series", series)
page("many", many)
page("kept", kept, opens: :kept)
page("service", service)
page("deep", deep)
page("hostile", hostile)
page("empty", Build.new.profile)
told = {kinds: HeapSample::Groups::BY, mixed: expected(mixed), blocks: expected(blocks), written: written(mixed), filters: filters(mixed),
        growths: growths(series), many: expected_growth(many[1] - many[0])[:line], hostile: HOSTILE.map { |name| HeapSample::Printable.text(name) },
        kept: {space: kept.why.total.space, samples: kept.why.total.samples}, intervals: intervals}
File.write(File.join(FOLDER, "told.json"), JSON.generate(told))
