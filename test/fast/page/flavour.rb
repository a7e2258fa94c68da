# frozen_string_literal: true

# Makes a page with a library whose schema has a column more, of texts that may group, as CONTRIBUTING.md says how to
# add one: no other line of the library or of the page knows of it.
#
#   ruby flavour.rb PAGE TEMPLATE LIBRARY     LIBRARY: a copy of src/lib, which this changes
page, template, library = ARGV
schema = File.join(library, "heapsample/profile/columns.rb")
text = File.read(schema)
ending = "    # All of them, as HeapSample::Column.\n"
abort("the schema ends otherwise") unless text.include?(ending)
File.write(schema, text.sub(ending, "    column :flavour, :text, merge: :same, group: true\n\n#{ending}"))
$LOAD_PATH.unshift(library)
require "build"

build = Build.new.row(["/srv/app/a.rb:1 A#a"], "String", at_gc: 3, inuse: 30).row(["/srv/app/a.rb:2 A#b"], "String", at_gc: 3, inuse: 12)
texts = build.raw[:texts]
%w[sweet sour].each_with_index do |name, i|
  texts << name
  build.raw[:rows][i][HeapSample::Columns::FLAVOUR] = texts.size - 1
end
HeapSample::View.new(build.profile, root: "/srv/app", template: template).save(page)
