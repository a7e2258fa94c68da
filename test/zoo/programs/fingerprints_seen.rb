# A deduplication of messages keeps the fingerprint of each message in a Set, for ever: the fingerprints differ. 43 KB a second.
#
# kind: leak
# rate: 43000
require_relative "../load"
require "digest"
require "set"

class Inbox
  def initialize = @seen = Set.new

  def receive(text)
    fingerprint = Digest::SHA256.hexdigest(text) # LEAK
    return false unless @seen.add?(fingerprint) # LEAK KEEPER

    text.split.size
  end
end

INBOX = Inbox.new
Load.run(180) { |n| INBOX.receive("message #{n} of sender #{n % 60}: #{"good morning " * 30}") } # LEAK
