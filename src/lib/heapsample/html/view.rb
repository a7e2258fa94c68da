# frozen_string_literal: true

module HeapSample
  # Profiles as one HTML page that needs nothing else: a diagnosis if there is one, flame
  # graph, table, what is in use by age, and where the memory of the process is.
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

    # Profiles of a series that the last one is compared with, at most.
    BASES = 3
    # So many labels can be grouped by.
    LABELS = 8
    # The width of text that the browser breaks into lines.
    ONE_LINE = 10_000
    TEMPLATE = "viewer.html"
    TITLE = "<!--title-->"
    DATA = "<!--data-->"

    # call-seq:
    #   View.new(profile, root: Dir.pwd, title: nil, template: nil, diagnosis: nil, opens: nil) -> view
    #   View.new(growth, …) -> view
    #   View.new(series, …) -> view
    #
    # A +series+ is a Series, of which three profiles at most are read beside the
    # last, or an Array of profiles in the order of time: the page shows the last
    # one, its growth since the first, the middle one and the one before it, and the
    # account of the process over all.  Paths below +root+ are shortened; +title+ is
    # that of the page; +template+ a file in place of the one that is installed.
    # +diagnosis+ is what the page opens with: nil, or an object whose +to_h+ is of the form of Diagnosis#to_h;
    # +opens+ the value that the graph and the table show at first: :kept, who keeps what (if the profile tells), or nil.
    # Raises ArgumentError if there is no profile, or a base was taken after the last.
    def initialize(subject, root: Dir.pwd, title: nil, template: nil, diagnosis: nil, opens: nil)
      @warnings = subject.is_a?(Series) ? subject.warnings : []
      @infos, @growths, @profile = read(subject)
      @layout = Layout.new(width: ONE_LINE, root: root)
      @titles = ViewTitles.new(@profile, @growths, title)
      @template = template
      @diagnosis = diagnosis
      @opens = opens
    end

    # The page, as a binary String.  Raises View::Missing if this Ruby was
    # installed without the view.
    def to_s
      page = template
      before, between, after = page.b.partition(TITLE).then { |head, _, rest| [head, *rest.partition(DATA).values_at(0, 2)] }
      [before, escape(Printable.text(@titles.first)).b, between, [data].pack("m0"), after].join
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
      "#<#{self.class} #{@titles.first}, #{@infos.size} profile#{"s" unless @infos.size == 1}>"
    end

    private

    # Meta of all profiles, the growths that the last one shows, and that.
    def read(subject)
      return [[subject.earlier.info, subject.later.info], [subject], subject.later] if subject.is_a?(Growth)
      return compare(subject, subject.infos) if subject.is_a?(Series)

      profiles = (subject.is_a?(Array) ? subject : [subject]).map do |profile|
        profile.respond_to?(:to_profile) ? profile.to_profile : profile
      end
      raise ArgumentError, "no profile is given; give at least one" if profiles.empty?

      others = profiles.grep_v(Profile)
      raise ArgumentError, "#{others.first.class} is not a profile" unless others.empty?

      compare(profiles, profiles.map(&:info))
    end

    def compare(profiles, infos)
      last = profiles.last
      [infos, bases(infos.size - 1).map { |index| last - profiles[index] }, last]
    end

    # Of so many earlier profiles, those that the last one is compared with.
    def bases(count)
      count <= BASES ? [*0...count] : [0, count / 2, count - 1]
    end

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
      profile = columns.add_all(ViewSheet.of_profile(@profile, frames, labels))
      growths = @growths.map { |growth| about_growth(growth).merge(columns: columns.add_all(ViewSheet.of_growth(growth, frames, labels))) }
      columns.pack({version: 2, title: @titles.of(@profile), groups: ViewGroups.all(labels), diagnosis: @diagnosis&.to_h, states: DiagnosisText::WORDS, opens: @opens, **about,
                    profile: profile, growths: growths, kept: kept(columns, frames), **memory, frames: columns.add_all(frames.columns), texts: frames.texts})
    end

    # Names of labels that have a column each.
    def labels = (@label_names ||= @profile.label_names.first(LABELS))

    # Who keeps what, as rows; nil where the profile does not tell.
    def kept(columns, frames)
      columns.add_all(ViewSheet.of_profile(ViewWays.of(@profile), frames, labels)) if @profile.holders
    end

    def about
      info = @profile.info
      {about: [*Header.part(@profile, @layout), *Header.new(info, @layout).lines, *AwaitsMajor.lines(@profile, @layout),
               *HeapPagesText.new(HeapPages.new(@profile), @layout).pins_sentence, *@warnings], gc_count: info.gc_count,
       malloc: @profile.malloc?, memsize: info.memsize?}
    end

    def about_growth(growth)
      {title: @titles.of(growth), since: @titles.moment(growth.earlier), seconds: growth.seconds, gcs: growth.gcs,
       matched: growth.matched?, same_run: growth.same_run?, malloc_left_out: growth.malloc_left_out?}
    end

    # The accounts of the process in the order of time: seconds of Unix time and
    # bytes of each part, nil where it is not known.
    def memory
      accounts = @infos.filter_map { |info| [info.taken, info.account] if info.account && info.taken }
      start = @infos.first.account_at_start
      accounts.unshift([@infos.first.started, start]) if start && @infos.first.started
      {parts: Account::PARTS,
       accounts: accounts.map { |at, account| {at: at.to_f, rss: account.rss, parts: account.parts} },
       account_growth: account_growth(start)}
    end

    # What it grew in, a sentence; nil if that is not known.
    def account_growth(start)
      now = @profile.info.account
      return unless now && start

      AccountGrowth.new(now, start, malloc: AccountGrowth.malloc_of(@profile)).to_s
    end
  end
end
