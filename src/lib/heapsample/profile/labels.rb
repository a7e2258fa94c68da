# frozen_string_literal: true

module HeapSample
  # The labels of a row: for whom the program worked when its objects were allocated.  See
  # GC::SampleProfile.with_labels; they show for whom memory was allocated, not what retains it.
  #
  # A row has them as one text, a line "name=value" for each in the order of the names: rows with
  # the same labels have the same text.
  module Labels
    # What rows are grouped by: "label:controller".
    BY = /\Alabel:(.+)\z/m
    # The key of rows that have no such label.
    NONE = "(none)"
    # The key of rows that were allocated when the sampler had no room for their labels, whatever the
    # label; and that set's text.
    OTHER = "(other)"
    OTHER_NAME = "labels"
    OTHER_TEXT = "#{OTHER_NAME}=#{OTHER}".freeze

    # call-seq:
    #   Labels.parse("action=show\ncontroller=orders") -> {"action" => "show", "controller" => "orders"}
    #
    # Lines without a name or without "=" are left out: a damaged file may have such lines.
    def self.parse(text)
      text.split("\n").map { |line| line.split("=", 2) }.select { |name, value| value && !name.empty? }.to_h
    end

    # The reverse of it. A name or a value that another program wrote may have anything in it.
    def self.text(labels)
      labels.sort.map { |name, value| "#{name.tr("=\n", "__")}=#{value.tr("\n", " ")}" }.join("\n")
    end

    # call-seq:
    #   Labels.named("label:controller") -> "controller" or nil
    def self.named(by)
      by[BY, 1] if by.is_a?(String) || by.is_a?(Symbol)
    end

    # The value that rows with this text have of the label +name+: NONE or OTHER if they have none.
    def self.value(text, name)
      text == OTHER_TEXT ? OTHER : parse(text).fetch(name, NONE)
    end
  end
end
