# frozen_string_literal: true

# Is an expression true of who keeps what a filter leaves of a profile?
# Usage: ruby kept_by.rb FILE EXPRESSION NAME:VALUE…     `why`, `folded` (its text) and `holder` (NearestHolder::Answer) are known to it
require "heapsample"

path, expression, *filters = ARGV
profile = HeapSample::Profile.load(path).filter(**filters.to_h { |filter| filter.split(":", 2) }.transform_keys(&:to_sym))
why = profile.why
names = binding
names.local_variable_set(:folded, why.text.to_folded)
names.local_variable_set(:holder, profile.nearest_holder&.of_rows(profile.table))
exit if why.reason.nil? && !why.empty? && names.eval(expression)

puts why, "", "named: #{names.local_variable_get(:holder)}"
exit 1
