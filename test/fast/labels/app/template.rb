# frozen_string_literal: true

# Renders a view by Action View, in a process of its own, and saves the profile. Usage: template.rb OUTPUT

require "action_view"
require "action_controller"

Row = Class.new
Cell = Class.new
KEPT = []

GC::SampleProfile.start(interval: 1)
lookup = ActionView::LookupContext.new([File.join(__dir__, "views")])
view = ActionView::Base.with_empty_template_cache.new(lookup, {}, nil)
abort "it renders something else" unless view.render(template: "orders/index", formats: [:html]).include?("<h1>Orders</h1>")

GC.sample_profile(full_gc: true).save(ARGV.fetch(0))
