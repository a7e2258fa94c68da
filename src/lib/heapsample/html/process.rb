# frozen_string_literal: true

module HeapSample
  # One process of a page: its last profile, the earlier ones that it is compared with, and its memory over time.
  class ViewProcess
    # Profiles of a series that the last one is compared with, at most; and other deploys.
    BASES = 3
    DEPLOYS = 2

    # A ViewTitles; how many profiles there are.
    attr_reader :titles, :size

    # +subject+: as of View; +number+: of its process in the diagnosis; +series+: all of the page.
    def initialize(subject, layout, title, number, series)
      @layout = layout
      @number = number
      @warnings = subject.is_a?(Series) ? subject.warnings : []
      @infos, @growths, @profile = read(subject)
      @growths += of_deploys(subject, series) if subject.is_a?(Series)
      @walked = @profile.holders ? @profile : (subject.walked if subject.is_a?(Series))
      @size = @infos.size
      @titles = ViewTitles.new(@profile, @growths, title)
    end

    # Names of the labels of its rows.
    def label_names = @profile.label_names

    # JSON-ready; columns are added to +columns+.
    def data(frames, columns, labels)
      profile = columns.add_all(ViewSheet.of_profile(@profile, frames, labels))
      growths = @growths.map { |growth| about_growth(growth).merge(columns: columns.add_all(ViewSheet.of_growth(growth, frames, labels))) }
      {title: @titles.of(@profile), process: @number, pid: @profile.info.process_id, name: name, **about, profile: profile, growths: growths, kept: kept(columns, frames, labels),
       walked: (@titles.moment(@walked) if @walked), majors: majors, gcs: gcs, **memory}
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

    # Growths since the latest other deploys: of each, from the profile of a process with the same title that had run for
    # about as long.
    def of_deploys(subject, series)
      own = subject.infos.last
      return [] unless own.deploy

      others = series.select { |one| (info = one.infos.last).deploy && info.deploy != own.deploy && alike(info) == alike(own) }
      others.group_by { |one| one.infos.last.deploy }.values.sort_by { |same| same.map { |one| one.infos.last.taken }.max }.last(DEPLOYS).map do |same|
        other, index = same.flat_map { |one| one.infos.each_index.map { |at| [one, at] } }
                           .min_by { |one, at| (lasted(one.infos[at]) - lasted(own)).abs }
        @profile - other[index]
      end
    end

    def alike(info) = info.title&.gsub(/\d+/, "0")
    def lasted(info) = info.started ? info.taken - info.started : 0.0

    # "4711 puma: worker 0", with the deploy if it is known.
    def name
      info = @profile.info
      [info.process_id || "?", info.title, ("deploy #{info.deploy}" if info.deploy)].compact.join(" ")
    end

    # What the latest walk found to retain memory, as rows; nil if there was no walk.
    def kept(columns, frames, labels)
      columns.add_all(ViewSheet.of_profile(ViewWays.of(@walked), frames, labels)) if @walked&.holders
    end

    def about
      info = @profile.info
      {about: [*Header.part(@profile, @layout), *Header.new(info, @layout).lines, *AwaitsMajor.lines(@profile, @layout),
               *HeapPagesText.new(HeapPages.new(@profile), @layout).pins_sentence, *@warnings], gc_count: info.gc_count,
       malloc: @profile.malloc?, memsize: info.memsize?}
    end

    def about_growth(growth)
      deploys = [growth.earlier, growth.later].map { |profile| profile.info.deploy }
      {title: @titles.of(growth), since: @titles.moment(growth.earlier), seconds: growth.seconds, gcs: growth.gcs,
       matched: growth.matched?, same_run: growth.same_run?, dumps: growth.later.info.dump?, malloc_left_out: growth.malloc_left_out?,
       deploys: (deploys if deploys.all? && deploys.uniq.size > 1), lasted: [growth.earlier, growth.later].map { |profile| lasted(profile.info) }}
    end

    # When the major GCs began that profiles list: seconds of Unix time.
    def majors = @infos.flat_map(&:majors).to_h { |major| [major.gc, major.time.to_f] }.values.sort

    # The GCs that the last profile lists: how many each entry has, when it began, CPU time and the longest pause in seconds, heap pages
    # and old objects; and what GC costs, in sentences. nil: it lists none.
    def gcs
      record = GCRecord.of(@profile.info) or return

      {list: record.entries.map { |entry| [entry.gcs, entry.time.to_f, entry.took, entry.pause, entry.pages, entry.old_objects] },
       cost: (GCCost.new(record, @profile).sentences(@layout) if record.causes.any?)}
    end

    # The accounts of the process in the order of time: seconds of Unix time and
    # bytes of each part, nil where it is not known.
    def memory
      accounts = @infos.filter_map { |info| [info.taken, info.account] if info.account && info.taken }
      start = @infos.first.account_at_start
      accounts.unshift([@infos.first.started, start]) if start && @infos.first.started
      {accounts: accounts.map { |at, account| {at: at.to_f, rss: account.rss, parts: account.parts} }, account_growth: account_growth(start)}
    end

    # What it grew in, a sentence; nil if that is not known.
    def account_growth(start)
      now = @profile.info.account
      return unless now && start

      AccountGrowth.new(now, start, malloc: AccountGrowth.malloc_of(@profile)).to_s
    end
  end
end
