# frozen_string_literal: true

module HeapSample
  # Texts and frames of all profiles in a view, each once and by number.  Number
  # 0 of the texts is the empty one.
  class ViewFrames
    # The Strings; how paths are shortened.
    attr_reader :texts, :layout

    def initialize(layout)
      @layout = layout
      @texts = [""]
      @numbers = {"" => 0}
      @frames = []
      @frame_numbers = {}
      @of_stacks = {}.compare_by_identity
      @of_profiles = {}.compare_by_identity
    end

    def text(text)
      @numbers[text] ||= begin
        @texts << text
        @texts.size - 1
      end
    end

    # The number of a profile's text, by its reference in a row.
    def text_of(profile, reference)
      (@of_profiles[profile] ||= {})[reference] ||= text(profile.text(reference))
    end

    # The numbers of the frames of +stacks+, by their ids there.  Native frames
    # that differ only in their address are one.
    def numbers(stacks)
      @of_stacks[stacks] ||= stacks.frames.each_with_index.map { |frame, id| number(frame, stacks.application?(id), stacks.folded_as(id)) }
    end

    # Label, method, path, short path, line, whether native, whose code it is (Stacks#folded_as), and whether
    # that is the application, of all frames, as columns of numbers.
    def columns
      fields = @frames.transpose
      fields = Array.new(FIELDS.size) { [] } if fields.empty?
      FIELDS.zip(fields).to_h
    end

    FIELDS = %i[label method path short line native owner application].freeze

    private

    def number(frame, application, owner)
      fields = [*fields(frame), text(owner), application ? 1 : 0]
      @frame_numbers[fields] ||= begin
        @frames << fields
        @frames.size - 1
      end
    end

    def fields(frame)
      label = frame.native? ? frame.to_s : frame.label
      path = frame.full_path
      [text(label), text(frame.native? ? label : frame.qualified_label), text(path), text(@layout.path(path)), frame.lineno, frame.native? ? 1 : 0]
    end
  end
end
