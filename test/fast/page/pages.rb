# frozen_string_literal: true

# Makes the pages that main.mjs looks at, and next to them, in pages.json, what the library says of the same profiles.
#
#   ruby pages.rb FOLDER TEMPLATE
require "fileutils"
require "json"
require "tmpdir"
require_relative "../../check/page/profiles"
require_relative "big_build"

include PageProfiles

FOLDER, TEMPLATE = ARGV

def page(name, subject, **options)
  HeapSample::View.new(subject, root: ROOT, template: TEMPLATE, **options).save(File.join(FOLDER, "#{name}.html"))
end

told = {kinds: HeapSample::Groups::BY}
mixed = PageProfiles.mixed.profile
page("mixed", mixed)
told[:mixed] = expected(mixed).dig("inuse", :line, :both, "bytes")
told[:written] = written(mixed)
told[:filters] = filters(mixed).slice(:class, :search)

blocks = PageProfiles.blocks
page("blocks", blocks)
told[:blocks] = expected(blocks).dig("freed", :line, :malloc, "bytes")
told[:lines] = blocks.groups(:line).to_h do |group|
  [names(group.key).first, [LAYOUT.bytes(group.inuse.resident.space), LAYOUT.percent(group.freed_share), group.age(100)]]
end

series = Array.new(5) { |step| series_profile(step) }
page("series", series)
told[:growth] = expected_growth(series.last - series.first)[:line]
told[:account] = account(4)
many = [many_profile(0), many_profile(1)]
page("many", many)
told[:many] = expected_growth(many[1] - many[0])[:line]
page("growth", series.last - series.first)

kept = held_build.profile
page("kept", kept)
page("why", kept, opens: :kept)
page("service", service)
page("crowded", crowded)
page("grown", Array.new(3) { |step| service(step: step, account: account(step), account_at_start: account(0)) }, diagnosis: diagnosis.text(root: ROOT))
told[:cards] = cards(diagnosis.to_h[:processes].first)
told[:processes] = diagnosis.text(root: ROOT).to_h[:processes].map do |process|
  {**process.slice(:sentence, :evidence, :next), written: [LAYOUT.bytes(process[:rss]), *process.values_at(:grew, :bytes_per_hour).compact.map { |bytes| LAYOUT.bytes(bytes, sign: true) }]}
end
page("level", service, diagnosis: level_diagnosis.text(root: ROOT))
worker, master, old = cluster
all = HeapSample::Diagnosis.new([worker, master, old])
numbers = all.each_with_index.flat_map { |process, number| process.members.map { |one| [one.infos.last.process_id, number] } }.to_h
page("cluster", worker, diagnosis: all.text(root: ROOT), others: {master => numbers[4700], old => numbers[4600]})
told[:deploys] = expected_growth(worker.last - old.last)[:line]
told[:majors] = worker.infos.flat_map(&:majors).map(&:gc).uniq.size
told[:master] = expected(master.last).dig("inuse", :line, :both, "bytes")
page("walked", service, diagnosis: diagnosis_of_walks)
page("bloat", service, diagnosis: bloated)
page("states", service, diagnosis: diagnosis_of_states)
told[:words] = HeapSample::ProcessDiagnosis::STATES.map { |state| HeapSample::DiagnosisText::WORDS.fetch(state) }
page("processes", service(step: 1, pid: 4712) - service)
page("deep", deep)
Dir.mktmpdir do |folder|
  FileUtils.cp_r(File.expand_path("../../../src/lib", __dir__), folder)
  arguments = [File.join(FOLDER, "flavour.html"), TEMPLATE, File.join(folder, "lib")]
  system(RbConfig.ruby, "--disable=gems", "-I", File.expand_path("../../check/library", __dir__), File.join(__dir__, "flavour.rb"), *arguments, exception: true)
end

page("hostile", hostile, diagnosis: hostile_diagnosis(HOSTILE))
told[:hostile] = HOSTILE.map { |name| HeapSample::Printable.text(name) }
page("young", Build.new.row(["/srv/app/a.rb:1 A#a"], "String", at_gc: 100, young: 4).profile)
page("empty", Build.new.profile)

big = HeapSample::Profile.from_raw(big_build(200_000))
cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
size = page("big", big)
told[:big] = {bytes: size, seconds: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - cpu,
              rows: big.table.size, space: big.groups(:class).total.inuse.space}

File.write(File.join(FOLDER, "broken.html"), File.read(File.join(FOLDER, "empty.html")).sub(/(octet-stream">.{40}).*?</, '\1<'))
File.write(File.join(FOLDER, "pages.json"), JSON.generate(told))
