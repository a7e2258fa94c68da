# frozen_string_literal: true

module HeapSample
  # By which stacks the memory of some groups was allocated, and which line of the application led there: what a
  # row of a table shows next to its key.
  class CameBy
    # A stack, by its profile's number of it.
    Stack = Struct.new(:stacks, :handle) do
      # Array of Frame, leaf first.
      def frames = stacks.stack(handle)

      # The native function that it was allocated for, a Frame: none of Ruby's, nor one that allocates for its caller. nil if
      # Ruby allocated for itself.
      def function
        frame = frames.take_while(&:native?).find { |one| !one.hands_on? && (AccountGrowth::RUBY_FILE.match?(one.library) || !GemName::COMMON.match?(one.library)) }
        frame unless frame && AccountGrowth::RUBY_FILE.match?(frame.library)
      end

      # The gem whose native code called malloc, or led there: "nokogiri-1.16.0"; nil if none did.
      def extension = stacks.frame_ids(handle).take_while { |id| stacks.native?(id) }.map { |id| stacks.owner(id) }.find { |owner| !owner.start_with?("(") }
      # The application's line nearest to the memory: a Place, nil if there is none.
      def application = stacks.application_site(handle)&.then { |id| Place.of(stacks.frame(id)) }
    end

    # call-seq:
    #   CameBy.of(profile, by, keys, kind: :both) { |row| bytes } -> came_by
    #
    # Of the rows of a profile, weighed by what the block makes of one.
    def self.of(profile, by, keys, kind: :both)
      wanted = Groups.wanted(kind)
      came_by = new(by, keys)
      profile.table.each { |row| came_by.add(profile, row, yield(row)) if wanted.nil? || row[Columns::MALLOC] == wanted }
      came_by
    end

    # +keys+ of groups +by+ one of Groups::BY.
    def initialize(by, keys)
      @keys = Hash.new { |known, profile| known[profile] = Keys.new(profile, by) }.compare_by_identity
      @sums = keys.to_h { |key| [key, Hash.new(0.0)] }
    end

    # So many bytes of a profile's row.
    def add(profile, row, bytes)
      return if bytes.zero? || @sums.empty?

      sums = @sums[@keys[profile].of(row)]
      sums[Stack.new(profile.stacks, row[Columns::STACK])] += bytes.abs if sums
    end

    # The frames by which most of the group's memory was allocated; none if they are not known.
    def frames(key) = heaviest(key)&.frames || []

    # The application's line that led to most of it, where the group is not of that line itself: a Place, or nil.
    def application(key)
      found = application_line(key)
      found unless found.nil? || key == GemName::APP || key.is_a?(Place) && key.path == found.path && (key.line.nil? || key.line == found.line)
    end

    private

    def application_line(key)
      lines = @sums.fetch(key, {}).each_with_object(Hash.new(0.0)) { |(stack, bytes), sums| sums[stack.application] += bytes }
      lines.max_by { |_, bytes| bytes }&.first
    end

    def heaviest(key) = @sums.fetch(key, {}).max_by { |_, bytes| bytes }&.first
  end
end
