# frozen_string_literal: true

module HeapSample
  # The reports of one profile, a method each: HeapSample::Profile and GC::SampleProfile include them.
  #
  # A report is declared here and nowhere else.  The method +top+ stands for the class Top in analysis/top.rb, and for
  # its text, TopText in analysis/top_text.rb.
  #
  # Each report is data: it has readers, #to_h and, where it is a list of rows, the methods of Enumerable.  It is
  # printed by #to_s and, as wide as wanted, by #text; see HeapSample::Analysis.
  module Reports
    # call-seq:
    #   report(by: :line, kind: :both, top: 20) -> HeapSample::Report
    #
    # Live memory with 95% intervals, young memory, allocation, and where the memory of the process is.
    #
    # [by]    how rows are grouped: :line, :app (the nearest line of the application), :method, :file,
    #         :class, :type, :gem, :function or :library
    # [kind]  which memory: heap :slots, :malloc, or :both
    # [top]   how many rows a table has
    #
    # Raises ArgumentError for another value.
    #
    #   puts GC.sample_profile.report(by: :class, top: 5)
    def report(**options) = Report.new(to_profile, **options)

    # call-seq:
    #   top(by: :line, value: nil, kind: :both, top: 20) -> HeapSample::Top
    #
    # Groups of rows, ranked by one +value+: :inuse_space (bytes), :inuse_objects, :alloc_space and
    # others; see HeapSample::Value::NAMES.  The result is Enumerable: each row has #key, #value,
    # #interval, #share, #samples and #weak?.  The other options are the same as in #report.
    #
    #   GC.sample_profile.top(by: :class, value: :inuse_objects).first.key   #=> "String"
    def top(**options) = Top.new(to_profile, **options)

    # call-seq:
    #   tree(direction: :callees, value: nil, kind: :both, by: :line, top: 40, min_share: 0.005) -> HeapSample::Tree
    #
    # Stacks as a tree: from the root down (:callees), or from the lines that allocate up (:callers).
    # Frames between which nothing branches are one node.
    #
    #   puts GC.sample_profile.tree(direction: :callers)
    def tree(**options) = Tree.new(to_profile, **options)

    # call-seq:
    #   why(by: :class, since: nil, full: false, top: 30, min_share: 0.01) -> HeapSample::Why
    #
    # What retains memory: the references by which it is reached, of a snapshot that was taken with <tt>why: true</tt>.
    # +since+, an earlier profile of this process: only memory allocated after it.
    #
    #   puts GC.sample_profile(why: true).why
    def why(**options) = Why.new(to_profile, **options)

    # call-seq:
    #   generations(age: nil, by: :line, top: 3) -> HeapSample::Generations
    #
    # Live memory by age, in GCs, with the lines behind each age.  With +age+, a Range or an Integer,
    # only what has that age.
    #
    #   puts GC.sample_profile.generations(age: 100..)
    def generations(**options) = Generations.new(to_profile, **options)

    # call-seq:
    #   churn(by: :line, kind: :both, top: 20) -> HeapSample::Churn
    #
    # What was allocated since sampling started, how much of it was freed, and how many GCs the freed objects
    # had survived.
    #
    #   puts GC.sample_profile.churn(by: :method)
    def churn(**options) = Churn.new(to_profile, **options)

    # call-seq:
    #   about(name: nil) -> HeapSample::About
    #
    # The header of the profile: process, time, settings, what was dropped, what sampling cost.
    #
    #   puts GC.sample_profile.about
    def about(**options) = About.new(to_profile, **options)

    public_instance_methods(false).each do |name|
      class_name = name.to_s.split("_").map(&:capitalize).join
      HeapSample.autoload class_name, "#{__dir__}/#{name}"
      HeapSample.autoload "#{class_name}Text", "#{__dir__}/#{name}_text"
    end
  end
end
