# frozen_string_literal: true

# A view of Action View, whose method has another name in each process.

require_relative "programs"
require "heapsample/tool"

class TemplatesTest < LabelsTest
  VIEW = "orders/index.html.erb"

  # Raw names of methods of the view, in the file.
  def raw_names(path) = HeapSample::PprofReader.read(path)[:texts].grep(/_app_views_orders_index|_orders_index_html_erb__/)

  test "rows of a view in two processes agree: they are grouped, merged and compared by its path" do
    paths = %w[one two].map { |name| "#{OUT}/tmp/template-#{name}.pb.gz" }
    paths.each do |path|
      said, status = Open3.capture2e({"RUBY_HEAP_SAMPLE" => nil}, RbConfig.ruby, LIBRARY, "-rbundler/setup", "#{__dir__}/app/template.rb", path)
      assert(status.success?, said)
    end
    names = paths.map { |path| raw_names(path) }
    assert(names.all?(&:any?) && (names[0] & names[1]).empty?, "the method has the same name in both: #{names}")
    profiles = paths.map { |path| HeapSample::Profile.load(path).filter(class: %w[Row Cell]) }
    methods = profiles.map { |profile| profile.groups(:method).map { |group| [group.key.label, group.inuse.objects.round] }.sort }
    assert_equal [[[VIEW, 203]]] * 2, methods
    merged = paths.inject(HeapSample::Tool::Merge.new) { |merge, path| merge.add(HeapSample::Profile.load(path)) }.profile.filter(class: %w[Row Cell])
    assert_equal [["#{VIEW}:2", 400], ["#{VIEW}:4", 6]], merged.groups(:line).map { |group| ["#{group.key.label[/\S+\z/]}:#{group.key.line}", group.inuse.objects.round] }.sort
    grown = (profiles[1] - profiles[0]).groups(:line)
    assert_equal [0, 0], grown.map { |group| group.space.round }
  end
end
