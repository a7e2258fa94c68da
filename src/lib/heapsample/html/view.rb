# frozen_string_literal: true

module HeapSample
  # Profiles as one HTML page that needs nothing else: a diagnosis if there is one, flame
  # graph, table, live memory by age, and where the memory of the process is.
  #
  #   HeapSample::View.new(profile).save("heap.html")
  #   HeapSample::View.new([monday, tuesday, friday]).save("heap.html")   # with the growth
  #
  # The page is a template (viewer/ in the source, built when Ruby is installed)
  # and the data, compressed.  Nothing of a profile becomes HTML but the title:
  # the page puts names in as text.
  class View
    # The template is not installed.
    class Missing < StandardError
    end

    # Processes that the page can show, at most.
    PROCESSES = 8
    # So many labels can be grouped by.
    LABELS = 8
    # The width of text that the browser breaks into lines.
    ONE_LINE = 10_000
    TEMPLATE = "viewer.html"
    TITLE = "<!--title-->"
    DATA = "<!--data-->"

    # call-seq:
    #   View.new(profile, root: Dir.pwd, title: nil, template: nil, diagnosis: nil, opens: nil, others: {}) -> view
    #   View.new(growth, …) -> view
    #   View.new(series, …) -> view
    #
    # A +series+ is a Series, of which at most three profiles are read in addition to
    # the last, or an Array of profiles in the order of time. The page shows the last
    # profile, its growth since the first, the middle and the previous one, and the
    # account of the process over all.  Paths below +root+ are shortened; +title+ is the
    # title of the page; +template+ replaces the installed file.
    # +diagnosis+ is what the page opens with: nil, a Diagnosis, or its text, whose sentences have paths below its root;
    # +opens+ the value that the graph and the table show at first: :kept, what retains memory (if the profile has a heap walk), or nil.
    # +others+: further Series that the reader can choose, each with the number of its process in the diagnosis; the page has
    # the first ones, and a process of another deploy is a base too.
    # Raises ArgumentError if there is no profile, or a base was taken after the last.
    def initialize(subject, root: Dir.pwd, title: nil, template: nil, diagnosis: nil, opens: nil, others: {})
      @layout = Layout.new(width: ONE_LINE, root: root)
      @all = {subject => 0, **others}.compare_by_identity
      @left_out = [@all.size - PROCESSES, 0].max
      @processes = @all.first(PROCESSES).map { |one, number| ViewProcess.new(one, @layout, title, number, series) }
      @template = template
      @diagnosis = diagnosis
      @opens = opens
    end

    # The page, as a binary String.  Raises View::Missing if this Ruby was
    # installed without the view.
    def to_s
      page = template
      before, between, after = page.b.partition(TITLE).then { |head, _, rest| [head, *rest.partition(DATA).values_at(0, 2)] }
      [before, escape(Printable.text(@processes.first.titles.first)).b, between, [data].pack("m0"), after].join
    end

    # call-seq:
    #   write(io) -> Integer
    #
    # Writes the page to an IO.
    def write(io)
      io.write(to_s)
    end

    # call-seq:
    #   save(path) -> Integer
    #
    # Writes the page: it is whole or not there, and only its owner may read it.
    # Returns its size in bytes.
    def save(path)
      AtomicFile.write(path, to_s)
    end

    def inspect
      "#<#{self.class} #{@processes.first.titles.first}, #{@processes.first.size} profile#{"s" unless @processes.first.size == 1}>"
    end

    private

    def series = @all.keys.grep(Series)

    def template
      path = @template || ["..", *load_path].map { |folder| File.expand_path("#{folder}/#{TEMPLATE}", __dir__) }.find { |file| File.file?(file) }
      raise Missing, "#{TEMPLATE} is not installed: Ruby was built without the HTML view" unless path

      File.binread(path)
    end

    # Other Ractors than the main one may not see it.
    def load_path = Ractor.current == Ractor.main ? $LOAD_PATH.map { |folder| "#{folder}/heapsample" } : []

    def escape(text)
      text.gsub(/[&<>"]/, "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;")
    end

    # What the page is made from.
    def data
      frames = ViewFrames.new(@layout)
      columns = ViewColumns.new
      first, *others = @processes.map { |process| process.data(frames, columns, labels) }
      columns.pack({version: 3, groups: ViewGroups.all(labels), diagnosis: @diagnosis&.to_h, states: DiagnosisText::WORDS, opens: @opens,
                    parts: Account::PARTS, deploys: deploys, **first, others: others, left_out: @left_out,
                    frames: columns.add_all(frames.columns), texts: frames.texts})
    end

    # Names of labels that have a column each.
    def labels = @labels ||= @processes.flat_map(&:label_names).uniq.first(LABELS)

    # When the first process of each deploy began: seconds of Unix time, and the name; none if there is one deploy only.
    def deploys
      starts = series.map(&:infos).select { |infos| infos.last.deploy }.group_by { |infos| infos.last.deploy }
                     .map { |name, all| [all.map { |infos| (infos.first.started || infos.first.taken).to_f }.min, name] }
      starts.size > 1 ? starts.sort : []
    end
  end
end
