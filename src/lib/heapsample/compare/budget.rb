# frozen_string_literal: true

require "json"

module HeapSample
  # Budgets: a file next to the code that has what the runs of a command may use. It is updated only on purpose (--accept).
  class Budget
    FORMAT = 1
    # Over: figure, test or nil, budget, mean of the runs.
    Over = Struct.new(:figure, :test, :budget, :mean)

    # call-seq:
    #   Budget.of(runs) -> budget
    #
    # What a RunFolder uses: its figures, and the tests with at least +limit+ of what is allocated.
    def self.of(runs, limit: Comparison::LIMIT)
      figures = RunFolder::FIGURES.keys.select { |figure| runs.values(figure) }.to_h { |figure| [figure.to_s, mean(runs.values(figure))] }
      figure = tests_figure(runs)
      tests = runs.keys(figure, :test).to_h { |test| [test, mean(runs.row(figure, :test, test).first)] }
      new({"format" => FORMAT, "figures" => figures, "tests" => {figure.to_s => tests.select { |_, value| value >= limit * figures[figure.to_s] }.sort.to_h}, "environment" => runs.environment})
    end

    def self.tests_figure(runs) = runs.sampled? ? :allocated_bytes : :allocated
    def self.mean(values) = (values.sum / values.size.to_f).round
    private_class_method :tests_figure, :mean

    # Raises FormatError if the file is damaged.
    def self.load(path)
      data = JSON.parse(File.read(path, encoding: "UTF-8"))
      valid = data.is_a?(Hash) && data["format"] == FORMAT && data["figures"].is_a?(Hash) && data["tests"].is_a?(Hash) && data["environment"].is_a?(Hash) &&
              [data["figures"], *data["tests"].values].all? { |values| values.is_a?(Hash) && values.values.all?(Numeric) }
      valid ? new(data) : raise(FormatError, "#{path}: is not a file of budgets; write it anew with --accept")
    rescue JSON::ParserError
      raise FormatError, "#{path}: is not a file of budgets; write it anew with --accept"
    end

    def initialize(data) = @data = data

    # Writes the file; returns its size.
    def save(path) = AtomicFile.write(path, "#{JSON.pretty_generate(@data)}\n")

    # call-seq:
    #   over(runs, limit: 0.01) -> Array of Over
    #
    # What every run is above, by more than +limit+ of the budget of a whole run.
    def over(runs, limit: Comparison::LIMIT)
      tests = @data["tests"].flat_map { |figure, budgets| budgets.map { |test, budget| [figure, test, budget] } }
      [*@data["figures"].map { |figure, budget| [figure, nil, budget] }, *tests].filter_map do |name, test, budget|
        figure = name.to_sym
        values = RunFolder::FIGURES.key?(figure) ? (test ? runs.row(figure, :test, test).first : runs.values(figure)) : nil
        next unless values && values.min > budget + (limit * @data["figures"].fetch(name, budget))

        Over.new(figure, test, budget, values.sum / values.size.to_f)
      end
    end

    # As Comparison#environment.
    def environment(runs)
      one, other = @data["environment"], runs.environment
      (one.keys | other.keys).sort.reject { |name| one[name] == other[name] }.map { |name| [name, one[name], other[name]] }
    end
  end
end
