# frozen_string_literal: true

module HeapSample
  # What gives a profile of now, when it is asked: a LiveProcess or a LiveURL.  Both have #name and #profile.
  module LiveSource
    # call-seq:
    #   LiveSource.named(text) -> LiveProcess, LiveURL or nil
    #
    # The one that +text+ names: a process id, the path of a socket, an http(s) URL; nil if it names none.
    def self.named(text) = LiveURL.named(text) || LiveProcess.named(text)
  end
end
