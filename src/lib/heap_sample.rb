# frozen_string_literal: true

# Reads heap profiles and says what they mean.
#
# A heap profile is a sample of a Ruby process's allocations: where they were
# made, of which class, how many are alive.  This library takes one from the
# running sampler (GC.sample_profile) or from a saved file, and gives
#
# - HeapSample::Profile: the profile as rows, stacks and estimates;
# - HeapSample::Statistics: the intervals around the estimates;
# - HeapSample::Growth: the difference of two profiles;
# - HeapSample::Series: the profiles of one process over time; HeapSample::Leaks and
#   HeapSample::Shape: what grows in them, and how;
# - HeapSample::Top, Tree, Generations, Churn, Retained: one view each, as text, as data
#   and as objects;
# - HeapSample::Report and GrowthReport: what there is to say, as text and data.
#
# It depends on no gem; zlib and json are loaded when a file is read.
module HeapSample
  # A file that is not a readable profile.  The message names the file and what
  # is wrong with it.
  class FormatError < StandardError
  end

  autoload :Account, "heap_sample/account"
  autoload :Analysis, "heap_sample/analysis"
  autoload :Assertions, "heap_sample/assertions"
  autoload :BlockRun, "heap_sample/block_run"
  autoload :Churn, "heap_sample/churn"
  autoload :ClassMix, "heap_sample/class_mix"
  autoload :Cohorts, "heap_sample/cohorts"
  autoload :Columns, "heap_sample/model"
  autoload :Curve, "heap_sample/curve"
  autoload :Diff, "heap_sample/diff"
  autoload :Estimate, "heap_sample/estimate"
  autoload :Filter, "heap_sample/filter"
  autoload :Frame, "heap_sample/frame"
  autoload :GemName, "heap_sample/gem_name"
  autoload :Generations, "heap_sample/generations"
  autoload :Group, "heap_sample/group"
  autoload :Groups, "heap_sample/group"
  autoload :Growth, "heap_sample/growth"
  autoload :GrowthGroup, "heap_sample/growth"
  autoload :GrowthReport, "heap_sample/growth_report"
  autoload :GrowthRow, "heap_sample/growth"
  autoload :Header, "heap_sample/header"
  autoload :Keys, "heap_sample/group"
  autoload :Layout, "heap_sample/layout"
  autoload :Leaks, "heap_sample/leaks"
  autoload :LeaksReport, "heap_sample/leaks_report"
  autoload :ListStacks, "heap_sample/stacks"
  autoload :MallocSection, "heap_sample/malloc_section"
  autoload :Meta, "heap_sample/meta"
  autoload :Net, "heap_sample/growth"
  autoload :NodeStacks, "heap_sample/stacks"
  autoload :PathIndex, "heap_sample/path_index"
  autoload :Place, "heap_sample/frame"
  autoload :PprofReader, "heap_sample/pprof_reader"
  autoload :Profile, "heap_sample/model"
  autoload :RepeatedBlock, "heap_sample/repeated_block"
  autoload :Report, "heap_sample/report"
  autoload :Retained, "heap_sample/retained"
  autoload :Retention, "heap_sample/retention"
  autoload :Row, "heap_sample/model"
  autoload :Series, "heap_sample/series"
  autoload :Shape, "heap_sample/shape"
  autoload :Stacks, "heap_sample/stacks"
  autoload :Statistics, "heap_sample/statistics"
  autoload :Top, "heap_sample/top"
  autoload :Tree, "heap_sample/tree"
  autoload :Trend, "heap_sample/trend"
  autoload :Value, "heap_sample/value"
  autoload :Verdict, "heap_sample/verdict"
end
