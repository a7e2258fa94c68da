# frozen_string_literal: true

module HeapSample
  # What rows are grouped by when grouped by code: +line+ and +label+ are nil
  # where they do not matter.
  Place = Struct.new(:path, :line, :label) do
    # "models/user.rb:12 User#name": the path from the gem's or Ruby's library on.
    def to_s = Layout.new.place(self)
  end
end
