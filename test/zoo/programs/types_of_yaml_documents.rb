# A build service reads the pipeline of each commit from YAML. A pipeline has tags of its project, and the service
# registers them before it reads the file, with a block that looks up files of the commit. Psych has the registered
# types in a Hash of the process. The name of a type has the commit in it, and nothing removes the types.
#
# kind: leak
# line: psych
# keeper: @domain_types, domain_types, Psych, psych.rb
# rate: 430000
require_relative "../load"
require "yaml"
require "digest"

class Commit
  attr_reader :id

  def initialize(number)
    @id = Digest::SHA1.hexdigest("commit #{number}")
    @files = Array.new(55) { |i| ["src/part_#{i}/file_#{i * number % 997}.rb", "#{number * (i + 7) % 90_000} bytes, changed by developer #{number % 40} in commit #{@id}"] }.to_h # LEAK
  end

  def names = @files.keys
  def file(name) = @files.fetch(name) { "#{name} is missing in #{@id}" }
end

class Pipelines
  def read(commit)
    YAML.add_domain_type("builds.example,2026", "file-#{commit.id}") { |_, name| commit.file(name) } # LEAK KEEPER
    YAML.safe_load(text(commit))
  end

  private

  # What the project has in its repository for this commit.
  def text(commit)
    steps = commit.names.each_slice(8).map do |names|
      "  - name: build #{names.size} files\n    files:\n#{names.map { |name| "      - !<tag:builds.example,2026:file-#{commit.id}> #{name}\n" }.join}"
    end
    "version: 2\nsteps:\n#{steps.join}"
  end
end

PIPELINES = Pipelines.new
DURATIONS = Array.new(50, 0)

Load.run(30) do |n|
  pipeline = PIPELINES.read(Commit.new(n)) # LEAK
  DURATIONS[n % 50] = pipeline["steps"].sum { |step| step["files"].sum { |file| file.to_i } }
end
