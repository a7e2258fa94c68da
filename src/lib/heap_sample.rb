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
# - HeapSample::Top, Tree, Generations, Churn, Retained: one view each, as text, as data
#   and as objects;
# - HeapSample::Series: the profiles of one process over time; HeapSample::Leaks and
#   HeapSample::Shape: what grows in them, and how;
# - HeapSample::Report and GrowthReport: what there is to say, as text and data;
# - HeapSample::Info: what a profile says about itself;
# - HeapSample::View: a page to look at all of it in a browser.
#
# It depends on no gem; zlib and json are loaded when a file is read.
#
# This file knows where every constant is, and loads each when it is first used; so no
# file below requires another.  What a program requires by name is here beside it:
# heap_sample, and in heap_sample/ assertions, minitest, test_unit and rspec.
module HeapSample
  # A file that is not a readable profile.  The message names the file and what
  # is wrong with it.
  class FormatError < StandardError
  end

  # Figures with their errors.
  autoload :Estimate, "heap_sample/estimate/estimate"
  autoload :Statistics, "heap_sample/estimate/statistics"

  # One snapshot: rows, stacks, what it says about itself.
  autoload :Columns, "heap_sample/profile/columns"
  autoload :Frame, "heap_sample/profile/frame"
  autoload :GemName, "heap_sample/profile/gem_name"
  autoload :ListStacks, "heap_sample/profile/list_stacks"
  autoload :Meta, "heap_sample/profile/meta"
  autoload :NodeStacks, "heap_sample/profile/node_stacks"
  autoload :Place, "heap_sample/profile/place"
  autoload :Profile, "heap_sample/profile/profile"
  autoload :Row, "heap_sample/profile/row"
  autoload :Stacks, "heap_sample/profile/stacks"

  # The file format.
  autoload :PprofReader, "heap_sample/pprof/reader"
  autoload :Protobuf, "heap_sample/pprof/protobuf"

  # Files: written whole or not at all, and recognised where they are no profile.
  autoload :AtomicFile, "heap_sample/files/atomic_file"
  autoload :FileKind, "heap_sample/files/file_kind"

  # Where the memory of the process is, and what that grows in.
  autoload :Account, "heap_sample/account/account"
  autoload :Verdict, "heap_sample/account/verdict"

  # Which rows, summed by what, ranked by what.
  autoload :Filter, "heap_sample/grouping/filter"
  autoload :Group, "heap_sample/grouping/group"
  autoload :Groups, "heap_sample/grouping/groups"
  autoload :Keys, "heap_sample/grouping/keys"
  autoload :Value, "heap_sample/grouping/value"

  # What all texts share.
  autoload :ClassMix, "heap_sample/text/class_mix"
  autoload :Header, "heap_sample/text/header"
  autoload :Layout, "heap_sample/text/layout"

  # What one profile says.
  autoload :Analysis, "heap_sample/analysis/analysis"
  autoload :Churn, "heap_sample/analysis/churn"
  autoload :Generations, "heap_sample/analysis/generations"
  autoload :Info, "heap_sample/analysis/info"
  autoload :MallocSection, "heap_sample/analysis/malloc_section"
  autoload :PathIndex, "heap_sample/analysis/path_index"
  autoload :Report, "heap_sample/analysis/report"
  autoload :Top, "heap_sample/analysis/top"
  autoload :Tree, "heap_sample/analysis/tree"

  # What two or three say.
  autoload :Diff, "heap_sample/growth/diff"
  autoload :Growth, "heap_sample/growth/growth"
  autoload :GrowthGroup, "heap_sample/growth/growth_group"
  autoload :GrowthReport, "heap_sample/growth/growth_report"
  autoload :GrowthRow, "heap_sample/growth/growth_row"
  autoload :Net, "heap_sample/growth/net"
  autoload :Retained, "heap_sample/growth/retained"

  # What many of one process say.
  autoload :Cohorts, "heap_sample/series/cohorts"
  autoload :Curve, "heap_sample/series/curve"
  autoload :Leaks, "heap_sample/series/leaks"
  autoload :LeaksReport, "heap_sample/series/leaks_report"
  autoload :Series, "heap_sample/series/series"
  autoload :Shape, "heap_sample/series/shape"
  autoload :Trend, "heap_sample/series/trend"

  # The page for a browser.
  autoload :View, "heap_sample/html/view"
  autoload :ViewColumns, "heap_sample/html/columns"
  autoload :ViewFrames, "heap_sample/html/frames"
  autoload :ViewSheet, "heap_sample/html/sheet"
  autoload :Viewable, "heap_sample/html/viewable"

  # What a block leaves behind, in test suites.
  autoload :Assertions, "heap_sample/assertions"
  autoload :BlockRun, "heap_sample/testing/block_run"
  autoload :RepeatedBlock, "heap_sample/testing/repeated_block"
  autoload :Retention, "heap_sample/testing/retention"
end
