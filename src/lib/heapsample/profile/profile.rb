# frozen_string_literal: true

module HeapSample
  # What one snapshot found: rows of estimates by stack, class, type, slot size
  # and GC count of the allocation.  A row is of heap slots, or of memory that malloc gave.
  #
  #   profile = HeapSample::Profile.load("heap-4711.pb.gz")
  #   puts profile.report
  #   profile.rows.sum { |row| row.inuse.space }   # bytes
  class Profile
    include Reports
    include Viewable

    # Settings, GC counts, drops and heaps, with String keys, as in a file.
    attr_reader :meta
    # The Strings that frames and rows refer to.
    attr_reader :texts
    # Stacks by handle: a HeapSample::Stacks.
    attr_reader :stacks
    # Rows as Arrays; see HeapSample::Columns.
    attr_reader :table
    # What #filter left of a profile: the HeapSample::Filter, nil if it is whole.
    attr_reader :filtered
    # What retains live memory: HeapSample::Holders; nil if there was no heap walk.
    attr_reader :holders

    # call-seq:
    #   HeapSample::Profile.from_raw(hash) -> profile
    #
    # Takes what the sampler hands over: +:meta+, +:texts+, +:frames+ (label,
    # path, absolute path, line, address; flattened), +:nodes+ (parent, frame;
    # flattened, node 0 the empty stack), +:rows+, +:mappings+ of native
    # code if there are any (start, end, offset in the file; flattened), and
    # +:holders+ and +:kept+ if a walk looked for them (see Holders.from_raw).
    def self.from_raw(raw)
      texts = raw.fetch(:texts).map { |text| Printable.utf8(text) }
      rows = whole(raw.fetch(:rows))
      new(meta: raw.fetch(:meta), texts: texts, rows: rows, holders: Holders.from_raw(*raw.values_at(:holders, :kept), texts, rows),
          stacks: NodeStacks.new(texts, raw.fetch(:frames), raw.fetch(:nodes), raw[:mappings] || []))
    end

    # call-seq:
    #   HeapSample::Profile.load(path, limit: 512 MiB, references: false) -> profile
    #   HeapSample::Profile.load(io, name: "-", limit: 512 MiB, references: false) -> profile
    #
    # Reads a saved profile (.pb.gz or .pb), or a heap dump of ObjectSpace.dump_all.  Raises HeapSample::FormatError if
    # it is damaged, cut, something else, or has more than +limit+ bytes when
    # unpacked; a SystemCallError if it cannot be read at all.  +name+ is what
    # errors call it.  A dump has no limit, and is read as far as it is whole; with +references+ #why shows what retains what.
    def self.load(source, limit: PprofReader::DECODED_MAX, name: source, references: false)
      return ForeignFile.open(source) { |file| load(file, limit: limit, name: name, references: references) } unless source.respond_to?(:read)

      peek = Dump::Peek.new(source)
      new(**(Dump.begins?(peek.beginning) ? Dump.read(peek, name: name, references: references) : PprofReader.read(peek, limit: limit, name: name)))
    end

    # A Ruby that is older than this library (the heapsample gem's) lacks the last columns.
    def self.whole(rows)
      rows.any? && rows.first.size < Columns::COUNT ? rows.each { |row| Columns.complete(row) } : rows
    end
    private_class_method :whole

    # What a heap dump has beyond rows: HeapSample::Dump::Facts; nil of other profiles.
    attr_reader :dump

    def initialize(meta:, texts:, stacks:, rows:, filtered: nil, holders: nil, dump: nil)
      @holders = holders
      @dump = dump
      @meta = meta
      @texts = texts
      @stacks = stacks
      @table = rows
      @filtered = filtered
      stacks.roots = [info.directory, info.gemfile].compact.uniq if info.directory || info.gemfile
    end

    # Which reference to name as the holder of a row: a NearestHolder; nil if there was no heap walk.
    def nearest_holder = (@nearest_holder ||= NearestHolder.new(self) if holders)

    # All frames, each once.
    def frames
      stacks.frames
    end

    # All rows, as HeapSample::Row.
    def rows
      @rows ||= @table.map { |columns| Row.new(self, columns) }
    end

    # The meta data by name: HeapSample::Meta.
    def info
      @info ||= Meta.new(meta)
    end

    # call-seq:
    #   text(reference) -> String
    #
    # The text of a column, which is an index into #texts or a String.
    def text(reference)
      reference.is_a?(Integer) ? @texts[reference] : reference
    end

    # call-seq:
    #   label_names -> Array of String
    #
    # The labels that rows have (GC::SampleProfile.with_labels): ["action", "controller"].
    def label_names
      @label_names ||= table.map { |row| row[Columns::LABEL_SET] }.uniq.map { |one| text(one) }
                            .reject { |one| one == Labels::OTHER_TEXT }.flat_map { |one| Labels.parse(one).keys }.uniq.sort
    end

    # Has it rows of malloc'd memory?
    def malloc?
      @malloc = table.any? { |columns| columns[Columns::MALLOC] } if @malloc.nil?
      @malloc
    end

    # call-seq:
    #   groups(by, kind: :both) -> HeapSample::Groups
    #
    # The rows summed +by+ :line, :app, :method, :file, :class, :type, :gem, :function,
    # :library or "label:NAME"; +kind+: :slots, :malloc, or :both.  Raises
    # ArgumentError on anything else.
    def groups(by, kind: :both)
      (@groups ||= {})[[by, kind]] ||= Groups.of(self, by, kind)
    end

    # call-seq:
    #   filter(class: nil, type: nil, path: nil, gem: nil, stack: nil, label: nil, age: nil, kind: :both) -> profile
    #
    # The profile of those rows that match all that is given; see
    # HeapSample::Filter.  Shares are then of these rows, and what is known of the
    # whole process (its account, what lived before the start) is left out of reports.
    #
    #   profile.filter(class: "Ticket", age: 10..).report
    #
    # Raises ArgumentError if one makes no sense, or if this is a part already.
    def filter(**wanted)
      raise ArgumentError, "the profile is already filtered; give all conditions in one call" if filtered

      filter = Filter.new(**wanted)
      return self if filter.to_h.empty?

      rows = filter.rows(self)
      Profile.new(meta: meta, texts: texts, stacks: stacks, rows: rows, filtered: filter, holders: holders&.of(rows), dump: dump)
    end

    # The same with other rows.
    def with(rows) # :nodoc:
      Profile.new(meta: meta, texts: texts, stacks: stacks, rows: rows, filtered: filtered)
    end

    # The profile itself, as of a GC::SampleProfile.
    def to_profile = self

    # call-seq:
    #   later - earlier -> HeapSample::Growth
    #
    # What grew between two profiles; see HeapSample::Diff.
    def -(other)
      Diff.new(self, other).growth
    end

    # call-seq:
    #   save(path, format: nil, root: Dir.pwd, title: nil) -> Integer
    #   save(io, format: "pb.gz", root: Dir.pwd, title: nil) -> Integer
    #
    # Writes the profile in the format that +path+ ends with: .pb.gz or .pb (pprof), .folded (folded stacks), .json
    # (speedscope), .html (a page, which +root+ and +title+ are for); or as +format+ sets.  A file is whole or not there.
    # Returns the number of bytes.  Raises ArgumentError if the path has no known ending.
    #
    #   GC::SampleProfile.load("heap.pb.gz").filter(gem: "nokogiri").save("nokogiri.json")
    def save(target, **options)
      Formats.save(self, target, **options)
    end

    # call-seq:
    #   to_pprof -> String
    #
    # The bytes that #save writes to a .pb.gz file: for an upload, or an answer over HTTP.
    def to_pprof = Formats.encode(self, Formats::DEFAULT)

    # "process 4711 at 2026-01-01 00:10:00 UTC: 48.1 MiB ±2.2 MiB in 1,234 objects, 240 samples".
    def to_s
      name = [("process #{info.process_id}" if info.process_id), ("at #{info.taken.utc.strftime("%F %T UTC")}" if info.taken)].compact
      "#{name.empty? ? "profile" : name.join(" ")}#{" (#{filtered})" if filtered}: #{groups(:class).total.inuse}"
    end

    def inspect
      malloced = table.count { |columns| columns[Columns::MALLOC] } if malloc?
      "#<#{self.class} #{table.size} rows#{", #{malloced} of malloc" if malloced}, #{stacks.frame_count} frames#{", #{filtered}" if filtered}>"
    end

    # Live memory by line: the first rows of #top.
    def pretty_print(printer) # :nodoc:
      top.pretty_print(printer)
    end
  end
end
