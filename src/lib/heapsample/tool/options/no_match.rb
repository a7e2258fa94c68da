# frozen_string_literal: true

module HeapSample
  module Tool
    # Why filters left nothing of some profiles: which of the filters it was, and what is there that
    # comes near.
    class NoMatch
      WHAT = {class: "no such class", type: "no such type", path: "no such path", gem: "no such gem",
              stack: "no such file or method on any stack", label: "nothing has that label", age: "nothing is that old"}.freeze
      # So many of the largest are named where nothing comes near.
      LARGEST = 4
      WILD = /[*?]/.freeze
      VERSION = /-(?:\d[^\/]*|\h{7,})\z/.freeze

      # +wanted+: what Profile#filter took; +given+: the same as the user wrote it.
      def initialize(profiles, wanted, given)
        @profiles = profiles
        @wanted = wanted
        @given = given
      end

      # +where+ it was looked for.
      def message(where)
        name = @wanted.keys.find { |one| @profiles.all? { |profile| profile.filter(one => @wanted[one]).table.empty? } }
        return "--#{name} #{@given[name]}: #{WHAT.fetch(name)} in #{where}; #{hint(name)}" if name

        both = @given.map { |one, value| "--#{one} #{value}" }.join(" and ")
        "nothing in #{where} matches #{both} together; leave out one of them"
      end

      private

      def hint(name)
        return ages if name == :age
        return labels if name == :label

        names = known(name)
        near = Array(@wanted[name]).flat_map { |one| nearest(name, one, names) }.uniq
        return "did you mean #{near.join(" or ")}?" unless near.empty?

        names.empty? ? "it has none" : "the largest are #{names.first(LARGEST).join(", ")}"
      end

      def ages
        known = @profiles.flat_map do |profile|
          now = profile.info.gc_count or next []
          profile.table.filter_map { |row| row[Columns::ALLOCATION_GC] }.minmax.compact.map { |allocation_gc| now - allocation_gc }
        end
        known.empty? ? "no age is known" : "ages go from #{known.min} to #{known.max}"
      end

      # Values of the label that is not so; else the labels that there are.
      def labels
        name, = @wanted[:label].find { |one, value| @profiles.all? { |profile| profile.filter(label: {one => value}).table.empty? } }
        values = ranked("label:#{name}").map(&:key).uniq - [Labels::NONE] if name
        return "#{name} is #{values.first(LARGEST).join(", ")}" unless values.nil? || values.empty?

        names = @profiles.flat_map(&:label_names).uniq
        names.empty? ? "no label was set; see GC::SampleProfile.with_labels" : "it has the labels #{names.join(", ")}"
      end

      # What there is, the largest first.
      def known(name)
        case name
        when :path then places.map(&:first).uniq
        when :stack then @profiles.flat_map { |profile| profile.frames.map(&:qualified_label) }.uniq
        else ranked(name).map(&:key).uniq
        end.reject { |text| text.empty? || text.start_with?("(") }
      end

      # Groups by the bytes that are alive, then by those that were.
      def ranked(kind)
        @profiles.flat_map { |profile| profile.groups(kind).to_a }
                 .sort_by.with_index { |group, index| [-group.inuse.space - group.young.space, -group.alloc.space, index] }
      end

      # Pairs of a path and a line.
      def places
        ranked(:line).map { |group| [group.key.path, group.key.line] }
      end

      def nearest(name, wanted, names)
        text = wanted.is_a?(Regexp) ? wanted.source.scan(/[\w:#.]+/).max_by(&:size).to_s : wanted
        case name
        when :path then nearest_path(text, places)
        when :stack then [*Nearest.of(plain(text), names), *nearest_path(text, frames)].first(1)
        when :type then Nearest.of(plain(text), [*names, *names.map { |type| type.delete_prefix(Filter::TYPE) }])
        when :gem then Nearest.of(plain(text), [*names, *names.map { |gem| gem.sub(VERSION, "") }].uniq)
        else nearest_name(text, names)
        end
      end

      def plain(text) = text.gsub(WILD, "")

      # A pattern that leaves the end open is like the beginnings of names.
      def nearest_name(text, names)
        found = Nearest.of(plain(text), names)
        return found unless found.empty? && text.end_with?("*")

        beginnings = names.to_h { |name| [name[0, plain(text).size], name] }
        Nearest.of(plain(text), beginnings.keys).map { |beginning| beginnings[beginning] }
      end

      def frames
        @profiles.flat_map { |profile| profile.frames.map { |frame| [frame.full_path, frame.lineno] } }.uniq
      end

      # Another line of the file, else as many folders of some path as the text has.
      def nearest_path(text, places)
        path, line = text.match(Filter::LINE)&.captures || [text, nil]
        lines = line ? lines_of(path, places) : []
        return ["#{path}:#{lines.min_by { |one| (one - line.to_i).abs }}"] unless lines.empty?

        count = [path.delete_prefix("/").split("/").size, 1].max
        parts = places.map(&:first).uniq.flat_map do |known|
          folders = known.delete_prefix("/").split("/")
          path.start_with?("/") ? ["/#{folders.first(count).join("/")}"] : folders.each_cons(count).map { |some| some.join("/") }
        end
        Nearest.of(plain(path), parts.uniq).first(1)
      end

      def lines_of(path, places)
        places.select { |known, line| line.to_i > 0 && (known == path || known.end_with?("/#{path}")) }.map(&:last)
      end
    end
  end
end
