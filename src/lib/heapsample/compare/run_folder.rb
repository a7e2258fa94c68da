# frozen_string_literal: true

require "json"

module HeapSample
  # Repeated runs of one command, as `heapsample compare FOLDER -- COMMAND` writes them: a folder for each run, with a file for each Ruby
  # process. The first run fills caches, and does not count.
  class RunFolder
    # What is measured of a run as a whole: title, and whether it is bytes. Of several processes the sum; of the peak, the largest.
    FIGURES = {allocated: ["objects allocated", false], allocated_bytes: ["bytes allocated", true], retained: ["bytes retained at the end", true],
               peak: ["peak resident memory", true]}.each_value(&:freeze).freeze
    # How rows are grouped, and the label that tests have.
    GROUPS = {line: :method, gem: :gem, test: :"label:test"}.freeze
    # Figures of rows, and the estimate that each is.
    OF_ROWS = {allocated_bytes: :alloc, retained: :inuse}.freeze
    DISCARDED = 1
    RUN = /\Arun-\d+\z/

    # A run: its figures, {allocated: 12}; its rows by [figure, group], key => [value, variance]; what surrounds it; and the line of
    # each key of lines that allocates most.
    Run = Struct.new(:name, :figures, :rows, :environment, :sampled, :processes, :places, keyword_init: true)

    # Array of Run, without the first.
    attr_reader :runs
    attr_reader :path

    # call-seq:
    #   RunFolder.new(path) -> runs
    #
    # Raises FormatError if a file is damaged, or there is no run but the first.
    def initialize(path, runs: nil)
      @path = path
      @runs = runs || RunFolder.names(path).drop(DISCARDED).filter_map { |name| read(name) }
      raise FormatError, "#{path}: no runs but the first in this folder; run heapsample compare #{path} -- COMMAND" if @runs.empty?
    end

    # Names of all runs in a folder, in order.
    def self.names(path) = File.directory?(path) ? Dir.children(path).grep(RUN).sort : []

    # The same with some of the runs.
    def with(runs) = RunFolder.new(path, runs: runs)

    # How many runs there are.
    def size = runs.size
    # Are all of a Ruby with the heap sampler?
    def sampled? = runs.all?(&:sampled)
    # Ruby, YJIT, allocator, gems and variables of the first run, by name.
    def environment = runs.first.environment

    # The values of a figure, one for each run; nil if a run does not have it.
    def values(figure) = runs.map { |run| run.figures[figure] }.then { |values| values if values.all? }

    # Values and variances of a row, one for each run.
    def row(figure, group, key) = runs.map { |run| run.rows.fetch([figure, group], {}).fetch(key, [0.0, 0.0]) }.transpose

    # Keys of all rows of one kind whose mean is +least+ or more.
    def keys(figure, group, least: 0)
      sums = Hash.new(0.0)
      runs.each { |run| run.rows.fetch([figure, group], {}).each { |key, (value, _)| sums[key] += value } }
      sums.select { |_, sum| sum >= least * size }.keys
    end

    # The line of a key that has most, of the last run.
    def place(key) = runs.reverse_each.lazy.filter_map { |run| run.places[key] }.first

    private

    def read(name)
      folder = File.join(path, name)
      data = Dir.glob(File.join(folder, "*.json")).sort.map { |file| parse(file) }
      return if data.empty?

      run = Run.new(name: name, figures: figures(data), rows: {}, environment: data.max_by { |one| one["allocated"] }["environment"], sampled: data.any? { |one|
        one["sampled"]
      }, processes: data.size, places: {})
      profiles = Dir.glob(File.join(folder, "*.pb.gz")).sort.map { |file| Profile.load(file) }
      profiles.each { |profile| add(run, profile) }
      run.figures[:allocated_bytes] = profiles.sum { |profile| profile.groups(:gem).total.alloc.space } if run.sampled
      add_tests(run, data) unless run.sampled
      run
    end

    def parse(file)
      data = JSON.parse(File.read(file, encoding: "UTF-8"))
      return data if data.is_a?(Hash) && data["format"] == 1 && [data["allocated"], data["retained"]].all?(Integer) && data["tests"].is_a?(Hash) && data["environment"].is_a?(Hash)

      raise FormatError, "#{file}: is not a file of heapsample compare"
    rescue JSON::ParserError
      raise FormatError, "#{file}: is not a file of heapsample compare"
    end

    def figures(data)
      {allocated: data.sum { |one| one["allocated"] }, retained: data.sum { |one| one["retained"] }, peak: data.filter_map { |one| one["peak"] }.max}
    end

    def add(run, profile)
      layout = Layout.new(root: profile.info.directory)
      GROUPS.each do |group, by|
        profile.groups(by).each do |found|
          key = key(group, found.key, layout) or next
          OF_ROWS.each do |figure, part|
            estimate = found.public_send(part)
            sums = (run.rows[[figure, group]] ||= {})[key] ||= [0.0, 0.0]
            sums[0] += estimate.space
            sums[1] += estimate.variance
          end
        end
      end
      profile.groups(:line).sort_by { |found| found.alloc.space }.each { |found| run.places[key(:line, found.key, layout)] = layout.place(found.key) }
    end

    # Of the method and not of the line, which moves where code above it changes; gems without version.
    def key(group, key, layout)
      case group
      when :line then key.is_a?(Place) ? [layout.path(key.path).sub(/\A([^\/]+)-\d[^\/]*\//, '\1/'), key.label].compact.join(" ").lstrip : key.to_s
      when :gem then key.to_s.sub(/-\d[^-]*\z/, "")
      else key unless key == Labels::NONE
      end
    end

    # Without the sampler: objects that the process allocated while the test ran.
    def add_tests(run, data)
      data.each { |one| one["tests"].each { |name, count| ((run.rows[%i[allocated test]] ||= {})[name] ||= [0.0, 0.0])[0] += count } }
    end
  end
end
