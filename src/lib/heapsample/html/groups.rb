# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # What rows of the page can be grouped by: Groups::BY, so that each column that may group is in the page's
  # menu, too. Of each: its name; the column of the sheet that has the key (a text, or a frame of code); the field that distinguishes
  # frames of code; and whether rows of slots have no such key.
  module ViewGroups
    CODE = {line: %i[site line], app: %i[app line], method: %i[site method], file: %i[site file]}
    # Rows of slots have neither.
    MALLOC_ONLY = %i[function library]
    private_constant :CODE, :MALLOC_ONLY

    # An Array of Hashes, in the order of the menu: +labels+ are names of labels, whose columns the sheet has.
    def self.all(labels = [])
      [*Groups::BY, *labels.map { |name| of_label(name) }].map do |by|
        column, detail = CODE.fetch(by, [by, nil])
        {name: by, column: column, detail: detail, malloc: MALLOC_ONLY.include?(by)}
      end
    end

    # What rows are grouped by for a label, and the name of its column.
    def self.of_label(name) = :"label:#{name}"
  end
end
