# frozen_string_literal: true

require "tmpdir"
require_relative "../../testing"
require_relative "../../zoo/form"
require_relative "../../zoo/recorder"

# How programs of the zoo are recorded, and what their headings say for it.
class FormTest < Test
  def exhibit(*lines)
    Exhibit.new(Header.new("/zoo/programs/shop.rb", "# A shop.\n#\n# kind: #{lines.join("\n# ")}\nrun\n"))
  end

  test "a program runs for 31 profiles, unless its heading says how long at the usual interval" do
    plain, long = exhibit("steady").header, exhibit("steady", "seconds: 121").header
    assert_equal [62, 310, 1860], [2, 10, 60].map { |every| plain.seconds(every) }
    assert_equal [121, 310], [2, 10].map { |every| long.seconds(every) }
    assert_equal [121, 310, 90], [Form.new(every: 2), Form.new(every: 10), Form.new(every: 10, seconds: 90)].map { |form| form.seconds(long) }
  end

  test "moments of a heading are seconds or shares of the time that the program runs" do
    assert_equal [[24, 24], [24.8, 124]], ["settles: 24", "settles: 40%"].map { |line| [62, 310].map { |seconds| exhibit("steady", line).truth(seconds)["settles"] } }
    assert_in_delta 15.5, exhibit("leak", "starts: 25%").truth["starts"]
  end

  test "the truth has the rate of a growing program, and whether the rules were tuned on it" do
    assert_equal [[18_000, true], [nil, false]], [exhibit("leak", "rate: 18000", "tuned: yes"), exhibit("steady", "rate: 18000")].map { |one| one.truth.values_at("rate", "tuned") }
  end

  test "slower recordings are made of the programs that have the interval in their heading" do
    one, other = exhibit("steady"), exhibit("steady", "every: 10, 60")
    assert_equal [[one, other], [other], [other], []], [2, 10, 60, 5].map { |every| Form.new(every: every).select([one, other]) }
  end

  test "series of different forms have different folders" do
    assert_equal %w[every-2 every-10 every-2-load-3 every-2-seconds-90],
                 [Form.new(every: 2), Form.new(every: 10), Form.new(every: 2, load: 3), Form.new(every: 2, seconds: 90)].map(&:name)
  end

  test "busy loops run beside the programs, and end with them" do
    pids = []
    Form.new(every: 2, load: 2).loaded { pids = File.read("/proc/self/task/#{Process.pid}/children").split.map { |pid| Integer(pid) } }
    assert_equal 2, pids.size
    pids.each { |pid| assert_raises(Errno::ESRCH) { Process.kill(0, pid) } }
  end

  test "each program of the zoo has a heading, and a growing one that is not tuned on has its rate" do
    Exhibit.all.map(&:header).each do |header|
      refute_nil header.rate, header.name if Header::GROWING.include?(header.kind) && !header.tuned?
      assert header.settles <= header.seconds, header.name
    end
  end
end
