# frozen_string_literal: true

# Reads heap profiles and reports what they show.
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
# - HeapSample::Why: which references keep what is alive;
# - HeapSample::Series: the profiles of one process over time; HeapSample::Diagnosis:
#   what grows in them, and whether it leaks;
# - HeapSample::Report and GrowthReport: reports, as text and data;
# - HeapSample::About: the header of a profile;
# - HeapSample::View: a page to look at all of it in a browser;
# - HeapSample::Web: the memory of a running process, as a Rack application.
#
# It depends on no gem; zlib and json are loaded when a file is read.
#
# This file lists where every constant is, and loads each from its own folder when it is first used;
# so no file below requires another, and no two copies of the library mix.  What a program requires by name is in this folder:
# heapsample, and in heapsample/ assertions, minitest, test_unit, rspec, rails, active_job, sidekiq, gc_log and web.
module HeapSample
  # A file that is not a readable profile.  The message names the file and what
  # is wrong with it.
  class FormatError < StandardError
  end

  here = "#{__dir__}/heapsample"
  autoload :VERSION, "#{here}/version"

  # Figures with their errors.
  autoload :Estimate, "#{here}/estimate/estimate"
  autoload :Statistics, "#{here}/estimate/statistics"

  # One snapshot: rows, stacks, header.
  autoload :CPlusPlus, "#{here}/profile/cplusplus"
  autoload :ForcedWork, "#{here}/profile/forced_work"
  autoload :Column, "#{here}/profile/column"
  autoload :Columns, "#{here}/profile/columns"
  autoload :Frame, "#{here}/profile/frame"
  autoload :GCTimes, "#{here}/profile/gc_times"
  autoload :GemName, "#{here}/profile/gem_name"
  autoload :ListStacks, "#{here}/profile/list_stacks"
  autoload :Labels, "#{here}/profile/labels"
  autoload :Loading, "#{here}/profile/loading"
  autoload :Major, "#{here}/profile/major"
  autoload :Meta, "#{here}/profile/meta"
  autoload :NodeStacks, "#{here}/profile/node_stacks"
  autoload :Place, "#{here}/profile/place"
  autoload :Profile, "#{here}/profile/profile"
  autoload :Row, "#{here}/profile/row"
  autoload :Stacks, "#{here}/profile/stacks"
  autoload :TemplateName, "#{here}/profile/template_name"

  # What retains live memory.
  autoload :Chain, "#{here}/holders/chain"
  autoload :Edge, "#{here}/holders/edge"
  autoload :Holders, "#{here}/holders/holders"
  autoload :NearestHolder, "#{here}/holders/nearest_holder"
  autoload :Pins, "#{here}/holders/pins"
  autoload :PinsText, "#{here}/holders/pins_text"
  autoload :Roots, "#{here}/holders/roots"
  autoload :StuckThreads, "#{here}/holders/stuck_threads"
  autoload :StuckThreadsText, "#{here}/holders/stuck_threads_text"
  autoload :Walk, "#{here}/holders/walk"
  autoload :Walks, "#{here}/holders/walks"

  # The file format of the sampler.
  autoload :MetaMessage, "#{here}/pprof/meta_message"
  autoload :PprofAddresses, "#{here}/pprof/addresses"
  autoload :PprofHolders, "#{here}/pprof/holders"
  autoload :PprofReader, "#{here}/pprof/reader"
  autoload :PprofWriter, "#{here}/pprof/writer"
  autoload :Protobuf, "#{here}/pprof/protobuf"

  # Heap dumps of ObjectSpace.dump_all.
  autoload :Dump, "#{here}/dump/dump"

  # Files: recognised where they are no profile, written whole or not at all, in this and in other formats.
  autoload :AtomicFile, "#{here}/files/atomic_file"
  autoload :FileKind, "#{here}/files/file_kind"
  autoload :ForeignFile, "#{here}/files/foreign_file"
  autoload :FoldedWriter, "#{here}/files/folded_writer"
  autoload :Formats, "#{here}/files/formats"
  autoload :SpeedscopeWriter, "#{here}/files/speedscope_writer"
  autoload :StackSums, "#{here}/files/stack_sums"

  # Where the memory of the process is, and what that grows in.
  autoload :Account, "#{here}/account/account"
  autoload :AccountText, "#{here}/account/account_text"
  autoload :Alive, "#{here}/account/alive"
  autoload :AliveText, "#{here}/account/alive_text"
  autoload :PiledUp, "#{here}/account/piled_up"
  autoload :Population, "#{here}/account/population"
  autoload :AccountGrowth, "#{here}/account/account_growth"

  # GC.compact, and what it gives back.
  autoload :Compaction, "#{here}/compaction/compaction"
  autoload :CompactionText, "#{here}/compaction/compaction_text"
  autoload :PinnedObjects, "#{here}/compaction/pinned_objects"

  # A running process, asked.
  autoload :LiveAnswer, "#{here}/live/live_answer"
  autoload :LiveProcess, "#{here}/live/live_process"
  autoload :LiveSocket, "#{here}/live/live_socket"
  autoload :LiveToken, "#{here}/live/live_token"
  autoload :LiveURL, "#{here}/live/live_url"
  autoload :ProcessHandle, "#{here}/live/process_handle"
  autoload :SamplerProgram, "#{here}/live/sampler_program"

  # Which rows, summed by what, ranked by what.
  autoload :CameBy, "#{here}/grouping/came_by"
  autoload :Extensions, "#{here}/grouping/extensions"
  autoload :Filter, "#{here}/grouping/filter"
  autoload :Group, "#{here}/grouping/group"
  autoload :Groups, "#{here}/grouping/groups"
  autoload :Keys, "#{here}/grouping/keys"
  autoload :Value, "#{here}/grouping/value"

  # What all texts share.
  autoload :AwaitsMajor, "#{here}/text/awaits_major"
  autoload :ClassMix, "#{here}/text/class_mix"
  autoload :Header, "#{here}/text/header"
  autoload :Layout, "#{here}/text/layout"
  autoload :Plot, "#{here}/text/plot"
  autoload :Printable, "#{here}/text/printable"
  autoload :StackText, "#{here}/text/stack_text"

  # Analyses of one profile. Reports declares them, and loads their classes.
  require "#{here}/analysis/reports"
  autoload :Analysis, "#{here}/analysis/analysis"
  autoload :HeapPages, "#{here}/analysis/heap_pages"
  autoload :HeapPagesText, "#{here}/analysis/heap_pages_text"
  autoload :HolderTree, "#{here}/analysis/holder_tree"
  autoload :MallocFunctions, "#{here}/analysis/malloc_functions"
  autoload :MallocFunctionsText, "#{here}/analysis/malloc_functions_text"
  autoload :PathIndex, "#{here}/analysis/path_index"

  # Analyses of two or three profiles.
  autoload :Diff, "#{here}/growth/diff"
  autoload :Grown, "#{here}/growth/grown"
  autoload :Growth, "#{here}/growth/growth"
  autoload :GrowthGroup, "#{here}/growth/growth_group"
  autoload :GrowthReport, "#{here}/growth/growth_report"
  autoload :GrowthRow, "#{here}/growth/growth_row"
  autoload :GrowthReportText, "#{here}/growth/growth_report_text"
  autoload :Net, "#{here}/growth/net"
  autoload :Retained, "#{here}/growth/retained"
  autoload :RetainedText, "#{here}/growth/retained_text"

  # Analyses of many profiles of one process.
  autoload :LineHistory, "#{here}/series/line_history"
  autoload :LineHistoryText, "#{here}/series/line_history_text"
  autoload :Series, "#{here}/series/series"

  # The answer: what grows, why, and how sure that is.
  autoload :Curve, "#{here}/diagnosis/curve"
  autoload :RankTest, "#{here}/diagnosis/rank_test"
  autoload :Verdict, "#{here}/diagnosis/verdict"
  autoload :Counts, "#{here}/diagnosis/counts"
  autoload :GrowingLines, "#{here}/diagnosis/growing_lines"
  autoload :LineGrowth, "#{here}/diagnosis/line_growth"
  autoload :LineHolders, "#{here}/diagnosis/line_holders"
  autoload :Diagnosis, "#{here}/diagnosis/diagnosis"
  autoload :DiagnosisText, "#{here}/diagnosis/diagnosis_text"
  autoload :Finding, "#{here}/diagnosis/finding"
  autoload :PeakUsage, "#{here}/diagnosis/peak_usage"
  autoload :ProcessDiagnosis, "#{here}/diagnosis/process_diagnosis"
  autoload :ProcessDiagnosisText, "#{here}/diagnosis/process_diagnosis_text"

  # Two sets of runs of a command.
  autoload :Budget, "#{here}/compare/budget"
  autoload :Comparison, "#{here}/compare/comparison"
  autoload :ComparisonText, "#{here}/compare/comparison_text"
  autoload :RunFolder, "#{here}/compare/run_folder"

  # GCs over time, and what they cost.
  autoload :GCCost, "#{here}/gc/gc_cost"
  autoload :GCRecord, "#{here}/gc/gc_record"
  autoload :GCReport, "#{here}/gc/gc_report"
  autoload :GCReportText, "#{here}/gc/gc_report_text"

  # The page for a browser.
  autoload :View, "#{here}/html/view"
  autoload :ViewColumns, "#{here}/html/columns"
  autoload :ViewFrames, "#{here}/html/frames"
  autoload :ViewGroups, "#{here}/html/groups"
  autoload :ViewProcess, "#{here}/html/process"
  autoload :Web, "#{here}/web"
  autoload :ViewSheet, "#{here}/html/sheet"
  autoload :ViewWays, "#{here}/html/ways"
  autoload :ViewTitles, "#{here}/html/titles"
  autoload :Viewable, "#{here}/html/viewable"

  # What a block leaves behind, in test suites.
  autoload :Allocation, "#{here}/testing/allocation"
  autoload :Assertions, "#{here}/assertions"
  autoload :BlockRun, "#{here}/testing/block_run"
  autoload :PeakMemory, "#{here}/testing/peak_memory"
  autoload :RepeatedBlock, "#{here}/testing/repeated_block"
  autoload :Retention, "#{here}/testing/retention"
end
