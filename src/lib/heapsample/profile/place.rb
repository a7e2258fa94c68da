# frozen_string_literal: true

module HeapSample
  # What rows are grouped by when grouped by code: +line+ and +label+ are nil
  # where they do not matter.
  Place = Struct.new(:path, :line, :label) do
    # The Place of a Frame.
    def self.of(frame) # :nodoc:
      frame.native? ? new("", nil, frame.to_s) : new(frame.full_path, frame.lineno, frame.label)
    end

    # Computed once: a Place is the key of most tables, and its path is long.
    def hash = @hash || (frozen? ? super : @hash = super)

    # Is it a function of native code?  Its label is "xmlNewNode (libxml2.so.2)".
    def native? = path.empty? && !label.to_s.start_with?("(")

    # "models/user.rb:12 User#name": the path from the gem's or Ruby's library on.
    def to_s = Layout.new.place(self)

    # The same with the whole path; what has no file is its label.
    def text = path.empty? ? label : "#{path}:#{line} #{label}".strip
  end
end
