# frozen_string_literal: true

require_relative 'configuration'
require_relative 'listed'
require_relative 'part'

# The parts and configurations that the other files of this folder list, as they are for one build's source.
class PartList
  # Rows of a file of columns; the last column is the rest of the line.
  def self.table(file, columns)
    File.readlines(File.join(__dir__, file), chomp: true).reject { |l| l.empty? || l.start_with?('#') }
        .map { |line| line.split(/\s+/, columns) }
  end

  def self.known_failures = table('known-failures', 2).map(&:first)

  def self.listed(file) = table(file, 3).map { |row| Listed.from(*row) }

  def initialize(build)
    @build = build
    @listed = self.class.listed('at-64k')
    @configurations = self.class.table('configurations', 5).map { |row| Configuration.from(*row) }
    @taken = []
    @rows = self.class.table('parts', 4).map { |name, harness, speed, tests| [part(name, harness, tests.split), speed == 'short'] }
  end

  # [part, configuration] of the fast suite.
  def short = pairs.select { |part, configuration| configuration.short && @rows.assoc(part)[1] }

  # Those that any of the patterns matches, of the name or of "name/configuration".
  def matching(patterns)
    patterns.flat_map do |pattern|
      found = pairs.select do |part, configuration|
        [part.name, "#{part.name}/#{configuration.name}"].any? { |name| File.fnmatch?(pattern, name, File::FNM_PATHNAME) }
      end
      found.empty? ? raise(ArgumentError, "no part #{pattern}; known: #{@rows.map { |p, _| p.name }.join(' ')}") : found
    end.uniq
  end

  private

  def pairs
    @pairs ||= @configurations.flat_map { |c| @rows.filter_map { |part, _| [part, c] if c.covers?(part) && part.setting(c) } }
  end

  def part(name, harness, tests)
    case harness
    when 'btest' then BootstrapTest.new(name, take(:btest, @build.btest_files(tests)))
    when 'spec' then Spec.new(name, take(:spec, @build.spec_files(tests)))
    when 'all'
      files = take(:all, @build.test_files(tests))
      TestAll.new(name, files, @listed.select { |entry| files.any? { |f| may_hold?(f, entry) } })
    when 'listed'
      files = @build.test_files(tests).select { |f| @listed.any? { |entry| may_hold?(f, entry) } }
      ListedTests.new(name, files, @listed)
    end
  end

  # Without those that an earlier part has.
  def take(folder, files)
    files.map { |f| [folder, f] }.-(@taken).tap { |new| @taken.concat(new) }.map(&:last)
  end

  # Most test files hold none of the listed tests.
  def may_hold?(file, entry) = entry.word.match?(File.binread("#{@build.src}/test/#{file}"))
end
