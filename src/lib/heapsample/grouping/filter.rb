# frozen_string_literal: true

module HeapSample
  # Which rows of a profile are wanted.
  #
  #   profile.filter(class: "Ticket*", path: "app/models", age: 10..)
  #
  # A name is a String, in which * stands for any characters and ? for one, a
  # Regexp, or an Array of them, of which one must match.  Patterns of a class, type
  # or gem must match the whole name.  A path matches if its parts are some of the
  # file's in a row: "user.rb", "app/models", "models/user.rb", "/srv/app"; with
  # ":12" at the end it is that line's alone.  So a place as a report shows it is a
  # path that finds it.
  class Filter
    # +type+ without its "T_".
    TYPE = "T_"
    # "user.rb:12"
    LINE = /\A(.+):(\d+)\z/m

    CONDITIONS = [*Columns::GROUPS.keys, :path, :gem, :stack, :label, :age].freeze

    # call-seq:
    #   Filter.new(class: nil, type: nil, library: nil, path: nil, gem: nil, stack: nil, label: nil, age: nil, kind: :both)
    #
    # +class+, +type+ and +library+ (Columns::GROUPS) are names, +path+ and +gem+ are of the line that the memory is put down to, +stack+ of
    # any frame: a path, or a label ("User#name"); +label+: a Hash of labels (GC::SampleProfile.with_labels) and
    # what their values are to be: <tt>{controller: "orders"}</tt>, true: any; +age+: a Range of GCs survived, or
    # one number of them.  nil asks for nothing.  Raises ArgumentError if one of them
    # makes no sense.
    def initialize(path: nil, gem: nil, stack: nil, label: nil, age: nil, kind: :both, **names)
      Groups.wanted(kind)
      unknown = names.keys - Columns::GROUPS.keys
      raise ArgumentError, "unknown keyword: #{unknown.first.inspect}; a filter has #{CONDITIONS.map(&:inspect).join(", ")} and :kind" unless unknown.empty?

      @asked = CONDITIONS.to_h { |name| [name, {path: path, gem: gem, stack: stack, label: label, age: age, **names}[name]] }.compact
      @asked[:kind] = kind unless kind == :both
      @kind = kind
      @age = age.is_a?(Integer) ? age..age : age
      check
    end

    # What is asked for, as it was given, without what is not.
    def to_h = @asked

    # call-seq:
    #   names -> Hash
    #
    # The same as JSON-ready texts.
    def names
      @asked.to_h do |name, wanted|
        next [name, wanted.to_h { |one, value| [one, texts(value)] }] if name == :label

        [name, wanted.is_a?(Array) ? texts(wanted) : text(wanted)]
      end
    end

    # "class Ticket, age 10.."
    def to_s
      @asked.map do |name, wanted|
        next wanted.map { |one, value| "label #{one} #{Array(texts(value)).join(" or ")}" }.join(", ") if name == :label

        "#{name} #{Array(name == :age ? [wanted] : wanted).map { |one| text(one) }.join(" or ")}"
      end.join(", ")
    end

    def inspect
      "#<#{self.class} #{self}>"
    end

    def ==(other)
      other.is_a?(Filter) && to_h == other.to_h
    end

    # call-seq:
    #   rows(profile) -> Array
    #
    # Those rows of a profile's table that match.
    def rows(profile)
      tests = tests(profile)
      profile.table.select { |row| tests.all? { |test| test.call(row) } }
    end

    private

    def check
      @asked.except(:age, :kind, :label).each do |name, wanted|
        raise ArgumentError, "#{name} must be a String, a Regexp or an Array of them, not #{wanted.inspect}" unless names?(wanted)
      end
      check_label(@asked[:label]) if @asked.key?(:label)
      return if @age.nil? || @age.is_a?(Range) && [@age.begin, @age.end].all? { |limit| limit.nil? || limit.is_a?(Integer) }

      raise ArgumentError, "age must be a number of GCs or a Range of them, not #{@age.inspect}"
    end

    def check_label(wanted)
      return if wanted.is_a?(Hash) && !wanted.empty? && wanted.each_value.all? { |value| value == true || names?(value) }

      raise ArgumentError, "label must be a Hash of names and values (a String, a Regexp, an Array of them, or true), not #{wanted.inspect}"
    end

    def names?(wanted)
      wanted.is_a?(Array) ? !wanted.empty? && wanted.all? { |one| pattern?(one) } : pattern?(wanted)
    end

    def pattern?(wanted) = wanted.is_a?(Regexp) || wanted.is_a?(String) && !wanted.empty?

    def texts(wanted) = wanted.is_a?(Array) ? wanted.map { |one| text(one) } : text(wanted)

    def text(wanted)
      case wanted
      when Regexp then wanted.inspect
      when Range then "#{wanted.begin}#{wanted.exclude_end? ? "..." : ".."}#{wanted.end}"
      when true then "(any)"
      else wanted.to_s
      end
    end

    # One for each condition; a text or stack is looked at once.
    def tests(profile)
      wanted = Groups.wanted(@kind)
      tests = []
      tests << ->(row) { row[Columns::MALLOC] == wanted } unless wanted.nil?
      tests << age_test(profile.info.gc_count) if @age
      Columns::GROUPS.each { |name, column| tests << name_test(profile, column.index, @asked[name], (TYPE if name == :type)) if @asked[name] }
      tests << place_test(profile, :gem, names_of(@asked[:gem], gem: true)) if @asked[:gem]
      tests << place_test(profile, :line, paths_of(@asked[:path])) if @asked[:path]
      tests << stack_test(profile.stacks) if @asked[:stack]
      @asked[:label]&.each { |name, value| tests << label_test(profile, name.to_s, value) }
      tests
    end

    def age_test(gc_count)
      return ->(_) { false } unless gc_count

      lambda do |row|
        allocation_gc = row[Columns::ALLOCATION_GC]
        allocation_gc && @age.cover?(gc_count - allocation_gc)
      end
    end

    def name_test(profile, column, wanted, prefix = nil)
      match = names_of(wanted)
      known = Hash.new do |texts, reference|
        name = profile.text(reference)
        texts[reference] = match.call(name) || (prefix && match.call(name.delete_prefix(prefix))) || false
      end
      ->(row) { known[row[column]] }
    end

    # (none) is only what is asked for by that name.
    def label_test(profile, name, wanted)
      match = wanted == true ? ->(_) { true } : names_of(wanted)
      none = Array(wanted).include?(Labels::NONE)
      known = Hash.new do |texts, reference|
        value = Labels.value(profile.text(reference), name)
        texts[reference] = value == Labels::NONE ? none : match.call(value)
      end
      ->(row) { known[row[Columns::LABEL_SET]] }
    end

    # Keys are one object where they are equal.
    def place_test(profile, by, match)
      keys = Keys.new(profile, by)
      known = Hash.new { |places, key| places[key] = match.call(key) ? true : false }.compare_by_identity
      ->(row) { known[keys.of(row)] }
    end

    def stack_test(stacks)
      path, name = paths_of(@asked[:stack]), names_of(@asked[:stack])
      frames = Hash.new do |known, id|
        frame = stacks.frame(id)
        known[id] = path.call(Place.new(frame.full_path, frame.lineno)) || name.call(frame.label) || name.call(frame.qualified_label)
      end
      known = Hash.new do |handles, handle|
        found = false
        stacks.each_frame_id(handle) { |id| break found = true if frames[id] }
        handles[handle] = found
      end
      ->(row) { known[row[Columns::STACK]] }
    end

    # Whether a name is one of those wanted.
    def names_of(wanted, gem: false)
      tests = Array(wanted).map do |one|
        next one if one.is_a?(Regexp)

        version = "(?:-(?:\\d[^/]*|\\h{7,}))?" if gem
        /\A#{glob(one)}#{version}\z/m
      end
      ->(name) { tests.any? { |test| test.match?(name) } }
    end

    # Whether a Place is in one of the files wanted.
    def paths_of(wanted)
      tests = Array(wanted).map do |one|
        next [one, nil] if one.is_a?(Regexp)

        path, line = one.match(LINE)&.captures || [one, nil]
        [%r{#{path.start_with?("/") ? "\\A" : "(?:\\A|/)"}#{glob(path.chomp("/"))}(?:/|\z)}m, line&.to_i]
      end
      ->(place) { place.is_a?(Place) && tests.any? { |test, line| test.match?(place.path) && (line.nil? || line == place.line) } }
    end

    def glob(text)
      Regexp.escape(text).gsub("\\*", ".*").gsub("\\?", ".")
    end
  end
end
