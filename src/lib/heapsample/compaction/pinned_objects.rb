# frozen_string_literal: true

module HeapSample
  # Objects of this process that GC.compact must not move, by class and line: ObjectSpace.dump_all marks them on each Ruby.
  class PinnedObjects
    # How many objects of a class, allocated at a path and line ("" and 0: not traced), on how many pages.
    Group = Struct.new(:class_name, :path, :line, :objects, :pages)

    PINNED = '"pinned":true'
    # Bytes of a heap page, as a power of two: of Ruby 3.1 and later.
    PAGE = 16

    # Loads what is needed: the next major GC forgets what is pinned.
    def self.prepare
      require "objspace"
      require "tempfile"
    rescue LoadError
      nil
    end

    # To be made right after GC.compact: the objects are written to a file, which allocates nothing.
    def initialize
      return unless ObjectSpace.respond_to?(:dump_all)

      @file = Tempfile.create("heapsample")
      ObjectSpace.dump_all(output: @file)
    end

    # An Array of Group, those on most pages first; empty where the standard library has no objspace.
    def groups
      return [] unless @file

      names, found = read
      pages = Hash.new { |all, key| all[key] = [0, {}] }
      found.each do |(address, hidden, path, line), places|
        group = pages[[(address && names.name(address)) || hidden, path, line]]
        group[0] += places.size
        places.each { |place| group[1][place >> PAGE] = true }
      end
      pages.map { |key, (objects, on)| Group.new(*key, objects, on.size) }.sort_by.with_index { |group, index| [-group.pages, index] }
    ensure
      close
    end

    private

    # The ClassNames; and addresses of pinned objects by class, what one without a class is called, path and line.
    def read
      names, found = Dump::ClassNames.new, Hash.new { |all, key| all[key] = [] }
      @file.rewind
      Dump::Lines.new(Dump::Peek.new(@file)).each do |line|
        pinned = line.include?(PINNED)
        next unless pinned || line.include?('"name":')

        fields, = Dump::Record.parse(line)
        names.note(fields["address"], fields) if Dump::Reader::CLASSES.include?(fields["type"])
        found[[fields["class"], hidden(fields), fields["file"].to_s, fields["line"].to_i]] << fields["address"].hex if pinned
      end
      [names, found]
    end

    def hidden(fields) = fields["imemo_type"] ? "(imemo:#{fields["imemo_type"]})" : "(hidden T_#{fields["type"]})"

    def close
      return unless @file

      @file.close
      File.unlink(@file.path)
    end
  end
end
