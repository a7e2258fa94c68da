# frozen_string_literal: true

# Methods of templates, whose names differ in each process.

require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"
require "heapsample/tool"

class TemplateNameTest < Test
  include Builds
  include HeapSample

  NAMES = {
    ["_app_views_orders_index_html_erb___2961987271050569111_3752", "/srv/app/app/views/orders/index.html.erb"] => "orders/index.html.erb",
    ["_app_views_orders__row_html_erb__1234567890_88", "/srv/app/app/views/orders/_row.html.erb"] => "orders/_row.html.erb",
    ["block (2 levels) in _app_views_orders_index_html_erb___29_37", "/srv/app/app/views/orders/index.html.erb"] => "block (2 levels) in orders/index.html.erb",
    ["ActionView::Base#_inline_template__29_37", "inline template"] => "inline template",
    ["Object#__tilt_3752", "/srv/app/mail/hello.slim"] => "hello.slim",
    ["block in Tilt::CompiledTemplates#__tilt_12", "/srv/app/views/home.erb"] => "block in home.erb",
    # What is no such method.
    ["Shop#__send__", "/srv/app/shop.rb"] => "Shop#__send__", ["Shop#_row__2_columns", "/srv/app/shop.rb"] => "Shop#_row__2_columns",
    ["_layout__1_2x", "/srv/app/shop.rb"] => "_layout__1_2x", ["Object#__tilt_3752", ""] => "Object#__tilt_3752"
  }.freeze

  test "the path of a template is the name of its method" do
    NAMES.each { |(label, path), name| assert_equal([label, name], [label, TemplateName.in(label, path)]) }
  end

  # The same of two processes.
  def worker(number)
    label = "_app_views_orders_index_html_erb__#{number}_#{number * 8}"
    Build.new("process_start" => format("%016x", number), "process_id" => number)
         .row(["/srv/app/app/views/orders/index.html.erb:3 block in #{label}", "/srv/app/app/views/orders/index.html.erb:2 #{label}", "/srv/app/config.ru:1 <main>"], "String", inuse: 20, at_gc: 5)
  end

  test "rows of sibling processes are merged, and their difference is nothing" do
    [->(build) { build.profile }, ->(build) { PprofEncoder.reloaded(build) }].each do |read|
      one, other = [1, 2].map { |number| read[worker(number)] }
      merged = [one, other].inject(Tool::Merge.new) { |merge, profile| merge.add(profile) }.profile
      rows = merged.rows.select { |row| row.inuse.samples > 0 }
      assert_equal([[40, ["block in orders/index.html.erb", "orders/index.html.erb", "<main>"]]], rows.map { |row| [row.inuse.samples, row.stack.map(&:label)] })
      assert_equal(["orders/index.html.erb"], one.groups(:method).map { |group| group.key.label })
      assert_equal([1, 0], (other - one).groups(:line).then { |groups| [groups.size, groups.first.space.round] })
      assert_equal(["orders/index.html.erb"] * 2, one.rows.first.stack.first(2).map(&:base_label))
    end
  end

  test "a variable of a template has its name, too" do
    edge = Edge.new("local rows of block in _app_views_orders_index_html_erb__29_37", "local", "/srv/app/app/views/orders/index.html.erb", 3)
    assert_equal("local rows of block in orders/index.html.erb", edge.name)
  end
end
