# frozen_string_literal: true

# The analysis library that this gem carries, src/lib/heap_sample of its
# repository.  Ruby with the sampler has one too, perhaps an older one: this
# gem's wins, even if the other is loaded already (one method of
# GC::SampleProfile is enough for that).  Two cannot live side by side, for they
# have one name, and the rest of a half-loaded one would come from the other.

own = [File.expand_path("..", __dir__), File.expand_path("../../../src/lib", __dir__)]
      .find { |directory| File.file?("#{directory}/heap_sample.rb") }
raise LoadError, "the heapsample gem is incomplete: its heap_sample.rb is missing" unless own

loaded = $LOADED_FEATURES.select { |path| path.match?(%r{/heap_sample(?:/[\w/]+)?\.rb\z}) }
others = loaded.reject { |path| path.start_with?("#{own}/") }
unless others.empty?
  # This gem's own part, if it is loaded, stays.
  tool = HeapSample::Tool if defined?(HeapSample) && HeapSample.const_defined?(:Tool, false)
  Object.send(:remove_const, :HeapSample) if defined?(HeapSample)
  $LOADED_FEATURES.delete_if { |path| others.include?(path) }
end

$LOAD_PATH.unshift(own) unless $LOAD_PATH.first == own
require "heap_sample"
HeapSample.const_set(:Tool, tool) if tool
if others.any? { |path| path.end_with?("/sample_profile.rb") }
  %i[Location Sample].each { |name| GC::SampleProfile.send(:remove_const, name) if GC::SampleProfile.const_defined?(name, false) }
  require "heap_sample/sample_profile"
end
