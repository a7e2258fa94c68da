# A service checks pull requests: whether the files define the constants that their names say. For each it makes a loader of Zeitwerk, for
# the sake of its inflector with the project's own names. The gem's registry has every loader that was not unregistered.
#
# kind: leak
# line: zeitwerk/
# keeper: zeitwerk/registry, @loaders, Zeitwerk
# gems: zeitwerk 2.8.3
# rate: 400000
require_relative "../load"
require "zeitwerk"

class NameCheck
  def initialize(project)
    loader = Zeitwerk::Loader.new # LEAK KEEPER
    loader.tag = "project-#{project}" # LEAK
    @inflector = loader.inflector # LEAK
    @inflector.inflect(Array.new(16) { |i| ["api_v#{i}_of_#{project}", "APIv#{i}Of#{project}"] }.to_h) # LEAK
  end

  def run(paths)
    paths.reject do |path|
      path.delete_suffix(".rb").split("/").map { |part| @inflector.camelize(part, path) }.join("::").match?(/\A[A-Z]\w*(::[A-Z]\w*)*\z/)
    end
  end
end

def paths(number) = Array.new(620) { |i| "billing/ledger_#{i % 40}/api_v#{i % 9}_of_#{number}/posting_#{(number * i) % 5_000}.rb" }

Load.run(75) do |n|
  NameCheck.new(n).run(paths(n)) # LEAK
end
