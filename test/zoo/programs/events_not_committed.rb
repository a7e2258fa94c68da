# Large: a document server has 22,000 scanned contracts in memory. What happens to a contract is an event, which is put among the events that
# are to be committed, and written to the journal. Those that were written should be cleared, but it is the copy of them that is cleared.
#
# kind: leak
# keeper: @uncommitted, CONTRACTS
# starts: 5
# rate: 950000
require_relative "../load"
require "json"
require "digest"

class Contract
  Event = Struct.new(:name, :at, :by, :fields)

  def initialize(number, scan)
    @number = number
    @scan = scan
    @state = { "signed" => 0, "clerk" => "nobody" }
    @uncommitted = []
  end

  def sign(clerk, fields)
    happened("signed", clerk, fields)
    @state["signed"] += 1
    @state["clerk"] = clerk
  end

  def uncommitted = @uncommitted.dup

  def commit_to(journal)
    journal << uncommitted.last(3).map { |event| JSON.generate(number: @number, name: event.name, by: event.by, **event.fields) }.join("\n")
    uncommitted.clear
  end

  def page(from)
    part = @scan.byteslice(from % 12_000, 6_000)
    "#{@state.to_a.join(" ")} #{Digest::SHA256.hexdigest(part)} #{[part].pack("m").tr("A-M", "a-m").size}"
  end

  private

  def happened(name, by, fields) = @uncommitted << Event.new(name, Load.seconds, by, fields) # LEAK KEEPER
end

class Journal
  def initialize = @lines = []

  def <<(text)
    @lines << text
    @lines.shift if @lines.size > 500
  end
end

RANDOM = Random.new(3)
CONTRACTS = Array.new(22_000) { |i| Contract.new(i, RANDOM.bytes(500) * 52) }
JOURNAL = Journal.new

Load.run(1_600) do |n|
  contract = CONTRACTS[n * 7_919 % 22_000]
  contract.sign("clerk #{n % 70}", {room: n % 300, pen: "pen #{n % 12}", witness: "witness #{n * 13 % 9_000} of the town hall", remark: "number #{n}, page #{n % 40}, without any remark"}) # LEAK
  contract.commit_to(JOURNAL)
  3.times { |page| contract.page((n * 64) + page) }
end
