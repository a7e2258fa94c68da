# frozen_string_literal: true

# Is an expression true of who keeps what a filter leaves of a profile?
# Usage: ruby kept_by.rb FILE EXPRESSION NAME:VALUE…     `why`, `folded` (its text) and `holder` (NearestHolder::Answer) are known to it
require "heap_sample"

path, expression, *filters = ARGV
profile = HeapSample::Profile.load(path).filter(**filters.to_h { |filter| filter.split(":", 2) }.transform_keys(&:to_sym))
why = profile.why
folded = why.to_folded
holder = profile.nearest_holder&.of_rows(profile.table)
exit if why.reason.nil? && !why.empty? && eval(expression)

puts why.to_s, "", "named: #{holder}"
exit 1
