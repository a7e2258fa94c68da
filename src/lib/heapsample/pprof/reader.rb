# frozen_string_literal: true

module HeapSample
  # Reads a saved profile: pprof's profile.proto, packed with gzip or not, with
  # the fields that doc/format.md describes.
  #
  # A file is not trusted.  What is wrong with it ends in one FormatError that
  # names the file; what it unpacks to is bounded.
  class PprofReader
    # Bytes a file may have when unpacked: ten times what 200,000 stacks take.
    DECODED_MAX = 1 << 29
    # How many times its size a file may have when unpacked; less than the second number is never too much.
    RATIO_MAX = 100
    SMALL = 1 << 26
    # Messages and strings a file may have: small ones cost more memory here
    # than in the file.
    ENTRIES_MAX = 2_000_000
    # Rows of a file of ours, and parts of them: a merged profile has a million rows at most.
    ROWS_MAX = 1 << 20
    # Bytes of a text, and of the message that has the settings.
    TEXT_MAX = 1 << 16
    SETTINGS_MAX = 1 << 20
    # Sample types, lines of a location, frames of a stack, and frames of all different stacks.
    FEW_MAX = 1000
    LINES_MAX = 64
    # Bytes of a sample's stack, values and labels.
    SAMPLE_MAX = 1 << 17
    # The sampler's longest stack has 512 frames of Ruby; other programs' are longer.
    STACK_MAX = 4096 + 128
    FRAMES_MAX = 1 << 25
    # The longest interval that the sampler has: 1 TiB.
    INTERVAL_MAX = 1 << 40
    # The format that this library reads (doc/format.md).
    FORMAT = 1

    GZIP_MAGIC = "\x1f\x8b".b.freeze
    # Added to zlib's window bits: gzip's header and checksum, nothing else.
    GZIP_ONLY = 16
    CHUNK = 1 << 18

    # Fields of profile.proto's messages that are read, by number; and those that only our files have.
    module Field
      SAMPLE_TYPE = 1
      SAMPLE = 2
      MAPPING = 3
      LOCATION = 4
      FUNCTION = 5
      STRING = 6
      PERIOD_TYPE = 11
      PERIOD = 12
      META = 1000
      REFERENCE = 1001
    end

    # Fields of a sample; the last is ours, and the last field of Row is a message.
    LOCATIONS = 1
    VALUES = 2
    LABELS = 3
    ROW = 1000
    PART = 30

    # A sample type that files from before the first format have.
    BEFORE_FORMATS = "inuse_samples"
    # The period of what is sampled by bytes.
    SPACE = "space"
    # What a column is where a file does not have it: these follow a sample's values.
    ABSENT = Columns::ALL.map(&:absent).uniq.freeze
    # Labels of a sample, of our format and of other programs, and where they are in its row.
    LABEL_COLUMNS = [*Columns::LABELS, *Columns::ALL.select { |column| column.text? && column.field && column.aliases.any? }].freeze
    LABEL_INDEXES = LABEL_COLUMNS.map(&:index).freeze
    # Fields of Row: their places in a row; and a row without any.
    PLACES = Columns::FIELDS_OF_ROW.each_with_object([]) { |column, places| places[column.field] = column.index }.freeze
    NO_FIELDS = Columns::ALL.map(&:absent).tap { |row| Columns::VARIANCES.each { |at, *| row[at] = nil } }.freeze

    # call-seq:
    #   PprofReader.read(path_or_io, limit: DECODED_MAX, name: path) -> Hash
    #
    # The keyword arguments of Profile.new.  An IO is read to its end, from where
    # it is; +name+ is what errors call it.
    def self.read(source, limit: DECODED_MAX, name: source)
      return reading(source, name, limit, &:read) if source.respond_to?(:read)

      ForeignFile.open(source) { |file| read(file, limit: limit, name: name) }
    end

    # call-seq:
    #   PprofReader.read_meta(path_or_io, limit: DECODED_MAX, name: path) -> Hash
    #
    # The header of a file (Profile#meta), without its rows.
    def self.read_meta(source, limit: DECODED_MAX, name: source)
      return reading(source, name, limit, &:read_meta_alone) if source.respond_to?(:read)

      ForeignFile.open(source) { |file| reading(file, name, limit, &:read_meta_alone) }
    end

    # Of a packed file: bytes that are unpacked at one time until its settings are there, and bytes of it and of what they unpack to.
    HEAD_PIECE = 1 << 13
    HEAD_MOST = 1 << 21

    # call-seq:
    #   PprofReader.read_head(bytes, name:) -> Hash
    #
    # As .read_meta, of a packed file, or its beginning.  The sampler writes the settings before the samples: nothing that comes
    # after them is read.  Raises FormatError where they do not come in time.
    def self.read_head(bytes, name:)
      require "zlib"
      inflater, data = Zlib::Inflate.new(Zlib::MAX_WBITS + GZIP_ONLY), "".b
      (0...[bytes.bytesize, HEAD_MOST].min).step(HEAD_PIECE) do |from|
        data << inflater.inflate(bytes.byteslice(from, HEAD_PIECE))
        span = settings_in(data) and return new(data).read_settings(*span)
        break if data.bytesize > HEAD_MOST
      end
      raise Protobuf::Malformed, "its settings are missing, or come late"
    rescue Zlib::Error, Protobuf::Malformed => e
      raise FormatError, "#{Printable.text(name)}: not a readable heap profile: #{Printable.text(e.message[0, 1000])}"
    ensure
      inflater&.reset     # else, of a file that was not read to its end, close warns
      inflater&.close
    end

    # From where to where the settings are; nil if not all of them are there.
    def self.settings_in(data)
      Protobuf.new(data).each_field { |number, from, to| return [from, to] if number == Field::META && to }
      nil
    rescue Protobuf::Malformed
      nil
    end
    private_class_method :settings_in

    # Yields a reader of what is in a file.  What is wrong with that is a FormatError: if it
    # is another kind of file, the error names the kind.
    def self.reading(file, name, limit)
      start = file.read(CHUNK).to_s
      packed = start.start_with?(GZIP_MAGIC)
      data = packed ? gunzip(file, start, limit) : plain(file, start, name, limit)
      yield new(data, name)
    rescue Protobuf::Malformed => e
      kind = FileKind.of(data || start) if data || !packed
      what = kind ? "it is #{"a gzip of " if packed}#{kind}" : e.message
      raise FormatError, "#{Printable.text(name)}: not a readable heap profile: #{Printable.text(what[0, 1000])}"
    end

    def self.plain(file, data, name, limit)
      raise Protobuf::Malformed, "it is not compressed with gzip" if name.to_s.end_with?(".gz")

      bounded(file.respond_to?(:size) ? file.size : data.bytesize, limit)
      while (chunk = file.read(CHUNK))
        bounded((data << chunk).bytesize, limit)
      end
      data
    end

    def self.gunzip(file, chunk, limit)
      require "zlib"
      inflater = Zlib::Inflate.new(Zlib::MAX_WBITS + GZIP_ONLY)
      # Joined at the end: a String that grows is copied.
      pieces = []
      read = size = 0
      while chunk && !inflater.finished?
        read += chunk.bytesize
        # one chunk can be a thousand pieces
        inflater.inflate(chunk) do |piece|
          bounded(size += piece.bytesize, limit)
          raise Protobuf::Malformed, "it decompresses to more than #{RATIO_MAX} times its size" if size > SMALL && size > RATIO_MAX * read
          pieces << piece
        end
        chunk = file.read(CHUNK)
      end
      raise Protobuf::Malformed, "the gzip data ends too early (cut off?)" unless inflater.finished?
      raise Protobuf::Malformed, "bytes follow the end of the gzip data" if chunk || inflater.total_in < read

      pieces.each_with_object(String.new(capacity: size)) do |piece, data|
        data << piece
        piece.clear             # or there were two of it all
      end
    rescue Zlib::Error => e
      raise Protobuf::Malformed, "gzip: #{e.message}"
    ensure
      inflater&.reset
      inflater&.close
    end

    def self.bounded(size, limit)
      raise Protobuf::Malformed, "it decompresses to more than #{limit} bytes" if size > limit
    end
    private_class_method :reading, :plain, :gunzip, :bounded

    def initialize(data, name = nil)
      @data = data
      @name = name
      @spans = Hash.new { |spans, field| spans[field] = [] }
      # By tag.
      @usual = USUAL.each_with_object([]) { |field, spans| spans[field << 3 | Protobuf::BYTES] = @spans[field] }
      @inlined = {}
      @frames_left = FRAMES_MAX
    end

    def read
      scan
      meta = read_meta
      read_texts
      read_types
      @mappings = read_mappings
      stacks = ListStacks.new(@texts, *read_frames, mapped_code(@mappings))
      rows = @meta ? read_rows(stacks) : read_foreign_rows(stacks, read_period)
      {meta: meta, texts: @texts, stacks: stacks, rows: rows, holders: @retained&.holders}
    end

    def read_meta_alone # :nodoc:
      scan
      @texts = Hash.new { |_, index| text(index) }
      read_meta.tap { read_types }
    end

    def read_settings(from, to) # :nodoc:
      raise Protobuf::Malformed, "its settings have more than #{SETTINGS_MAX} bytes" if to - from > SETTINGS_MAX

      meta = MetaMessage.decode(@data, from, to)
      unless meta["format"] == FORMAT
        raise Protobuf::Malformed, "its format is #{meta["format"].inspect}; this library reads #{FORMAT}: update heapsample"
      end
      bounded_interval(Meta.new(meta).interval)
      meta
    end

    private

    # Notes where the messages are: they may come before the strings they need.
    def scan
      position = @entries = 0
      while position
        cursor = Protobuf.new(@data, note_usual(position))
        position = nil
        cursor.each_field do |number, value, to|
          too_many if (@entries += 1) > ENTRIES_MAX
          note(number, value, to)
          break position = cursor.position if USUAL.include?(number)
        end
      end
      raise Protobuf::Malformed, "it has no strings (cut off?)" if text_count.zero?
    end

    # Fields that most messages are; their tags have one byte.
    USUAL = [Field::SAMPLE, Field::MAPPING, Field::LOCATION, Field::FUNCTION, Field::STRING].freeze

    # Notes messages and strings as long as they are of these fields with a length of one or two bytes, as most have.  Returns where
    # that ends.
    def note_usual(position)
      data = @data
      size = data.bytesize
      spans = @usual
      while (tag = data.getbyte(position)) && (noted = spans[tag]) && (length = data.getbyte(position + 1))
        from = position + 2
        if length >= 0x80
          high = data.getbyte(from) || 0x80
          break if high >= 0x80

          length = length & 0x7f | high << 7
          from += 1
        end
        break if (to = from + length) > size

        too_many if (@entries += 1) > ENTRIES_MAX
        noted << from << to
        position = to
      end
      position
    end

    def too_many
      raise Protobuf::Malformed, "it has more than #{ENTRIES_MAX} entries"
    end

    def too_many_rows = raise(Protobuf::Malformed, "it has more than #{ROWS_MAX} rows, or parts of rows")
    def few(list, what) = list.size > FEW_MAX && raise(Protobuf::Malformed, "it has more than #{FEW_MAX} #{what}")

    def note(number, value, to)
      case number
      when Field::PERIOD then @period = value unless to
      when Field::META then @meta = [bytes(value, to), to]
      when Field::SAMPLE_TYPE, Field::PERIOD_TYPE, Field::SAMPLE, Field::MAPPING, Field::LOCATION, Field::FUNCTION, Field::STRING, Field::REFERENCE
        @long = true if number == Field::STRING && to && to - value > TEXT_MAX
        @spans[number] << bytes(value, to) << to
      end
    end

    def text_count = @spans[Field::STRING].size / 2

    # One that is too long is "": #read_types refuses the file.
    def text(index)
      from, to = @spans[Field::STRING][2 * index, 2]
      to - from > TEXT_MAX ? "" : Printable.utf8(@data.byteslice(from, to - from).force_encoding(Encoding::UTF_8))
    end

    def read_texts = @texts = Array.new(text_count) { |index| text(index) }

    def bytes(value, to)
      to ? value : raise(Protobuf::Malformed, "a number stands in place of a message")
    end

    def each_message(number)
      @spans[number].each_slice(2) { |from, to| yield Protobuf.new(@data, from, to) }
    end

    def reference(index)
      raise Protobuf::Malformed, "a string is missing (cut off?)" if index >= text_count

      index
    end

    # Where in a sample's values each column of a row is, and in ABSENT behind them what no value is.
    def read_types
      names = type_names(Field::SAMPLE_TYPE)
      before_formats if !@meta && names.include?(BEFORE_FORMATS)
      raise Protobuf::Malformed, "a text has more than #{TEXT_MAX} bytes" if @long

      @value_count = names.size
      places = Columns::ALL.map { |column| [column.value, *column.aliases].filter_map { |name| names.index(name) }.first if column.sum? }
      if places.none?
        raise Protobuf::Malformed, "it is not a profile of a heap: its sample types are #{names.first(4).inspect}"
      end

      @value_of = places.zip(Columns::ALL).map { |place, column| place || @value_count + ABSENT.index(column.absent) }
    end

    def before_formats
      raise Protobuf::Malformed, "its format is older than #{FORMAT}; take the profile again with this version of the profiler"
    end

    def type_names(field)
      names = []
      each_message(field) do |message|
        name = ""
        message.each_field { |number, value, to| name = @texts[reference(value)] if number == 1 && !to }
        few(names << name, "sample types")
      end
      names
    end

    # Mean bytes between the samples of another program, if it says that it takes
    # them by bytes: Go does, and its figures are weighted for it.
    def read_period
      bounded_interval(@period) if @period && type_names(Field::PERIOD_TYPE).last == SPACE
    end

    def bounded_interval(interval)
      raise Protobuf::Malformed, "its interval is #{interval} bytes; the longest is #{INTERVAL_MAX}" if interval && interval > INTERVAL_MAX

      interval
    end

    def read_meta = @meta ? read_settings(*@meta) : {}

    Mapping = Struct.new(:start, :limit, :offset, :path)

    # Mapping id => Mapping.
    def read_mappings
      mappings = Hash.new(Mapping.new(0, 0, 0, 0))
      each_message(Field::MAPPING) do |message|
        id = 0
        mapping = Mapping.new(0, 0, 0, 0)
        message.each_field do |number, value, to|
          next if to

          case number
          when 1 then id = value
          when 2 then mapping.start = value
          when 3 then mapping.limit = value
          when 4 then mapping.offset = value
          when 5 then mapping.path = reference(value)
          end
        end
        mappings[id] = mapping
      end
      mappings
    end

    # For Stacks: where code is mapped.
    def mapped_code(mappings)
      mappings.values.select { |mapping| mapping.limit > mapping.start }.sort_by(&:start)
              .flat_map { |mapping| [mapping.start, mapping.limit, mapping.offset] }
    end

    # Returns the fields of all frames, and location id => frame id, or Array
    # of them.
    def read_frames
      @functions = read_functions
      fields = [0] * Stacks::FRAME_FIELDS       # frame 0: of a location that is not there
      frames_of = Hash.new(0)
      each_message(Field::LOCATION) do |message|
        id, lines = read_location(message)
        next if lines.empty?     # one without lines and address says as much as one that is not there

        @inlined[id] = lines.size if lines.size > 1

        first = fields.size / Stacks::FRAME_FIELDS
        lines.each { |line| fields.concat(line) }
        frames_of[id] = lines.size == 1 ? first : Array.new(lines.size) { |index| first + index }
      end
      [fields, frames_of]
    end

    # Its id, and the fields of its frames.  What has an address and no source
    # file is native code: its path is its mapping's.
    def read_location(message)
      id = mapping = address = 0
      lines = []
      message.each_field do |number, value, to|
        if number == 4
          raise Protobuf::Malformed, "a location has more than #{LINES_MAX} lines" if lines.size == LINES_MAX

          lines << read_line(bytes(value, to), to)
        elsif !to
          case number
          when 1 then id = value
          when 2 then mapping = value
          when 3 then address = value
          end
        end
      end
      return [id, lines] if address.zero? || address.between?(PprofAddresses::START, PprofAddresses::LIMIT)

      path = @mappings[mapping].path
      lines << ([0] * Stacks::FRAME_FIELDS) if lines.empty?
      [id, lines.map { |line| line[1].zero? ? [line[0], path, 0, 0, address] : line }]
    end

    # Function id => label and path.
    def read_functions
      functions = Hash.new([0, 0])
      each_message(Field::FUNCTION) { |message| read_function(message).then { |id, function| functions[id] = function } }
      functions
    end

    def read_function(message)
      id = name = path = 0
      message.each_field do |number, value, to|
        next if to

        case number
        when 1 then id = value
        when 2 then name = reference(value)
        when 4 then path = reference(value)
        end
      end
      [id, [name, path]]
    end

    LINE_MAX = (1 << 31) - 1

    def read_line(from, to)
      function = line = 0
      Protobuf.new(@data, from, to).each_field do |number, value, to_value|
        next if to_value

        function = value if number == 1
        line = value if number == 2
      end
      label, path = @functions[function]
      [label, path, @texts[path].start_with?("/") ? path : 0, line.clamp(0, LINE_MAX), 0]
    end

    # Rows of a file of ours.  Many differ only in allocation_gc, their first field: each kind is decoded once, and
    # the other rows are copies of it.
    def read_rows(stacks)
      read_references
      templates = Hash.new { |known, fields| known[fields] = template(fields) }
      rows = []
      each_sample do |list, packed, labels, from, to|
        raise Protobuf::Malformed, wrong_values(packed.count(LAST_BYTES)) if packed.count(LAST_BYTES) != @value_count

        stack = nil
        each_row(from, to) do |start, stop|
          allocation_gc, start = allocation_gc_at(start, stop)
          too_many_rows if rows.size >= ROWS_MAX
          fields = @data.byteslice(start, stop - start)
          template, parts = templates[fields]
          stack ||= stacks.intern(list) { count_frames(list) }
          rows << row = labelled(template.dup, stack, labels)
          row[Columns::ALLOCATION_GC] = allocation_gc
          take_parts(row, fields, parts) unless parts.empty?
        end
      end
      rows
    end

    def take_parts(row, fields, parts)
      too_many_rows if parts.size + @retained.size > ROWS_MAX
      parts.each { |part| @retained.take(row, Protobuf.new(fields, *part)) }
    end

    def read_references
      @retained = PprofHolders.new(@texts)
      each_message(Field::REFERENCE) { |message| @retained.add(message) }
    end

    ALLOCATION_GC_TAG = Columns::ALL[Columns::ALLOCATION_GC].field << 3 | Protobuf::VARINT

    # The allocation_gc of a row that has one, and where the other fields start.
    def allocation_gc_at(start, stop)
      return [nil, start] unless start < stop && @data.getbyte(start) == ALLOCATION_GC_TAG

      allocation_gc = @data.getbyte(start + 1)
      return [allocation_gc, start + 2] if allocation_gc && allocation_gc < 0x80 && start + 1 < stop

      cursor = Protobuf.new(@data, start + 1, stop)
      [positive(cursor.varint), cursor.position]
    end

    # A row with these fields, and where in them the messages Part are.
    def template(fields)
      row = NO_FIELDS.dup
      parts = NO_PARTS
      Protobuf.new(fields).each_field do |number, value, to|
        if to then (parts = parts.frozen? ? [] : parts) << [value, to] if number == PART
        elsif (at = PLACES[number])
          positive(value) if value >= NEGATIVE
          row[at] = value
        end
      end
      reference(row[Columns::TYPE])
      row[Columns::FREED_OBJECTS, 3] = row[Columns::ALLOC_OBJECTS, 3] if row[Columns::FREED_SAMPLES] > 0 && row[Columns::FREED_OBJECTS].zero?
      Columns::VARIANCES.each { |at, samples, objects, space| row[at] ||= Columns.variance(row[samples], row[objects], row[space]) }
      [Columns.with_copies(row).freeze, parts]
    end
    NO_PARTS = [].freeze

    # A negative number has its highest bit set.
    NEGATIVE = 1 << 63
    def positive(value) = value < NEGATIVE ? value : raise(Protobuf::Malformed, "a value is negative")

    def labelled(row, stack, labels)
      row[Columns::STACK] = stack
      row[Columns::CLASS] = labels[CLASS_PLACE]
      row[Columns::MALLOC] = labels[MALLOC_PLACE]
      row[Columns::LIBRARY] = labels[LIBRARY_PLACE]
      row[Columns::LABEL_SET] = labels[-1]
      row
    end
    CLASS_PLACE, MALLOC_PLACE, LIBRARY_PLACE = [Columns::CLASS, Columns::MALLOC, Columns::LIBRARY].map { |index| LABEL_INDEXES.index(index) }

    ROW_TAG = Protobuf.encode(ROW << 3 | Protobuf::BYTES).freeze
    ROW_FIRST, ROW_SECOND = ROW_TAG.bytes

    # Yields where the messages between +from+ and +to+ are.  Most have a length of one byte.
    def each_row(from, to)
      data = @data
      while from + 2 < to && data.getbyte(from) == ROW_FIRST && data.getbyte(from + 1) == ROW_SECOND && (length = data.getbyte(from + 2)) < 0x80
        start = from + 3
        break if (stop = start + length) > to

        yield start, stop
        from = stop
      end
      return if from == to

      Protobuf.new(data, from, to).each_field { |number, start, stop| yield bytes(start, stop), stop if number == ROW }
    end

    # The hot part of files of other programs.  Samples share many of their labels and values, byte for byte: each kind is
    # decoded once, into the row that others are copies of.
    def read_foreign_rows(stacks, interval)
      templates = {}
      interval = nil unless interval && interval > 0 && !missing_estimates.empty?
      rows = []
      each_sample do |list, packed, labels, _|
        row = (templates[packed] ||= foreign_template(packed, interval)).dup
        row[Columns::STACK] = stacks.intern(list) { count_frames(list) }
        LABEL_INDEXES.each_with_index { |at, label| row[at] = labels[label] }
        row[Columns::LABEL_SET] = labels.last
        rows << row
      end
      rows
    end

    def foreign_template(packed, interval)
      row = read_values(packed)
      missing_estimates.each { |at| complete_estimate(row, at, interval) if row[at + 1] > 0 } if interval
      row
    end

    # Yields the packed locations, the packed values and the labels of each sample, and where its rows are.
    def each_sample
      known = {}
      @labels = Hash.new { |labels, message| labels[message] = read_label(message) }
      spans = @spans[Field::SAMPLE]
      index = 0
      while (from = spans[index])
        to = spans[index + 1]
        list, packed, rest, rows = split_sample(from, to)
        raise Protobuf::Malformed, "a sample has more than #{SAMPLE_MAX} bytes" if list.bytesize + packed.bytesize + rest.bytesize > SAMPLE_MAX

        yield list, packed, known[rest] ||= read_labels(rest), rows, to
        index += 2
      end
    end

    LOCATIONS_TAG, VALUES_TAG, LABELS_TAG = [LOCATIONS, VALUES, LABELS].map { |field| field << 3 | Protobuf::BYTES }
    EMPTY = "".b.freeze

    # The packed location ids, the packed values and the labels of a sample, as
    # binary Strings, which as they are can be a Hash's keys, and where its rows are.  Written out for the
    # usual form: each at its place, with a length of one or two bytes.
    def split_sample(start, to)
      data = @data
      return split_any(start, to) unless data.getbyte(start) == LOCATIONS_TAG

      length = data.getbyte(start + 1) || to
      from = start + 2
      if length >= 0x80
        high = data.getbyte(from) || to
        return split_any(start, to) if high >= 0x80

        length = length & 0x7f | high << 7
        from += 1
      end
      list = data.byteslice(from, length).freeze
      from += length
      return split_any(start, to) unless data.getbyte(from) == VALUES_TAG

      length = data.getbyte(from + 1) || to
      from += 2
      if length >= 0x80
        high = data.getbyte(from) || to
        return split_any(start, to) if high >= 0x80

        length = length & 0x7f | high << 7
        from += 1
      end
      packed = data.byteslice(from, length).freeze
      from += length
      rows = from
      while rows < to && data.getbyte(rows) == LABELS_TAG
        return split_any(start, to) if (length = data.getbyte(rows + 1) || to) >= 0x80

        rows += 2 + length
      end
      return split_any(start, to) unless rows == to || (rows < to && data.getbyte(rows) == ROW_FIRST)

      whole(list)
      [list, packed, data.byteslice(from, rows - from).freeze, rows]
    end

    # The same for fields in any order, and for numbers that are not packed.
    def split_any(from, to)
      parts = {LOCATIONS => "".b, VALUES => "".b, LABELS => "".b}
      Protobuf.new(@data, from, to).each_field do |number, value, stop|
        part = parts[number]
        next unless part

        if number == LABELS
          part << LABELS_TAG << Protobuf.encode(stop - bytes(value, stop)) << @data.byteslice(value, stop - value)
        else
          part << (stop ? @data.byteslice(value, stop - value) : Protobuf.encode(value))
        end
      end
      whole(parts[LOCATIONS])
      [*parts.values.each(&:freeze), from]
    end

    # Of a stack that was not seen before, after its calls that were inlined are frames.
    def count_frames(list)
      frames = list.count(LAST_BYTES)
      frames = Protobuf.packed(list, 0, list.bytesize).sum { |id| @inlined.fetch(id, 1) } unless @inlined.empty? || frames > STACK_MAX
      raise Protobuf::Malformed, "a stack has more than #{STACK_MAX} frames" if frames > STACK_MAX

      raise Protobuf::Malformed, "its stacks have more than #{FRAMES_MAX} frames" if (@frames_left -= frames) < 0
    end

    # Of a packed number.
    LAST_BYTES = "\0-\x7f".b.freeze
    private_constant :LAST_BYTES

    def whole(list)
      raise Protobuf::Malformed, "it ends inside a stack" if (list.getbyte(-1) || 0) >= 0x80
    end

    def wrong_values(count) = "a sample has #{count} values for #{@value_count} types"

    # A row with what its values are.
    def read_values(packed)
      values = Protobuf.packed(packed, 0, packed.bytesize, @value_count)
      unless values.size == @value_count
        raise Protobuf::Malformed, wrong_values(values.size)
      end
      raise Protobuf::Malformed, "a value is negative; for a difference use go tool pprof, or heapsample diff with both profiles" if values.any? && values.max >= 1 << 63

      Columns.with_copies(values.concat(ABSENT).values_at(*@value_of))
    end

    # Labels by what a file calls them: their place in what #read_labels returns, and the column.
    LABEL_PLACES = LABEL_COLUMNS.each_with_index.flat_map do |column, place|
      [*column.label, *column.aliases].map { |name| [name, [place, column].freeze] }
    end.to_h.freeze

    # The labels of a sample, in the order of LABEL_COLUMNS, and behind them the text of those that the
    # program has set.  Labels are short, so one byte of length is the rule.
    def read_labels(message)
      found = LABEL_COLUMNS.map(&:absent)
      set = nil
      position = 0
      size = message.bytesize
      while position < size && message.getbyte(position) == LABELS_TAG && (length = message.getbyte(position + 1) || size) < 0x80
        position += 2
        break position -= 2 if position + length > size

        place, value = @labels[message.byteslice(position, length)]
        place ? found[place] = value : (set ||= {}).update(value) if value
        position += length
      end
      Protobuf.new(message, position).each_field do |number, from, to|
        next unless number == LABELS

        place, value = @labels[message.byteslice(bytes(from, to), to - from)]
        place ? found[place] = value : (set ||= {}).update(value) if value
      end
      found << (set ? text_of_labels(set) : 0)
    end

    # The index of a text that the file may not have.
    def text_of_labels(labels)
      (@label_texts ||= {})[Labels.text(labels)] ||= (@texts << Labels.text(labels)).size - 1
    end

    # Place and value of a label; no place and a Hash of one that the program has set; nothing of a number that is not
    # known.
    def read_label(message)
      key = text = value = 0
      Protobuf.new(message).each_field do |number, content, stop|
        next if stop

        case number
        when 1 then key = reference(content)
        when 2 then text = reference(content)
        when 3 then value = content
        end
      end
      raise Protobuf::Malformed, "a label is negative" if value >= 1 << 63

      place, column = LABEL_PLACES[@texts[key]]
      return ([nil, {@texts[key] => @texts[text]}] if key > 0 && text > 0) unless place

      [place, column.flag? ? @texts[text] == column.name.to_s : text]
    end

    # Where in a row the estimates are whose samples or variance the file does not give.
    def missing_estimates
      @missing_estimates ||= Columns::PARTS.values.select { |at| [at, at + 3].any? { |column| @value_of[column] >= @value_count } }
    end

    # All objects of a row are taken to have one size, as Go's have, and so one weight.
    def complete_estimate(row, at, interval)
      size = row[at + 2] / row[at + 1].to_f
      return if size.zero?

      weight = 1 / (1 - Math.exp(-size / interval.to_f))
      row[at] = [(row[at + 1] / weight).round, 1].max
      row[at + 3] = row[at + 1] * (weight - 1) * size * size
    end
  end
end
