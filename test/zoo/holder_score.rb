# frozen_string_literal: true

# How often the diagnosis names what retains a leak, by the live memory of the program, and what its heap walks cost.
#
# It counts the leaks whose heading names a holder. The holder is right if the last diagnosis names it for its first finding,
# whether that is called a leak yet or not.
class HolderScore
  WANTED = 0.9
  LONGEST_STOP = 0.05 # seconds
  MIB = 1 << 20
  SIZES = { "below 50 MiB" => (0...50 * MIB), "50 to 300 MiB" => (50 * MIB..300 * MIB), "above 300 MiB" => (300 * MIB + 1..) }.freeze

  def initialize(examinations)
    @examinations = examinations
    @leaks = examinations.select { |one| one.grows? && one.truth["keepers"].any? }
  end

  # [how many are right, of how many]
  def named = share(@leaks)

  # The same for each size: its name => [right, all]. Series whose size is unknown are in none.
  def by_size = SIZES.transform_values { |range| share(@leaks.select { |one| range === one.walks.live_bytes }) }

  # Leaks whose holder is not named, or a wrong one.
  def missed = (@leaks - @leaks.select { |one| right?(one) }).map { |one| one.truth["name"] }

  # Leaks in whose series no walk was made.
  def without_walk = @leaks.reject { |one| one.walks.made? }

  # The program, healthy or not, that a walk stopped for the longest time; nil if there was no walk.
  def longest = @examinations.select { |one| one.walks.longest_stop }.max_by { |one| one.walks.longest_stop }

  # The sums in words, a line each.
  def lines
    right, all = named
    ["holder named in #{right} of #{all} leaks that have one (wanted #{(WANTED * 100).round}%)#{list(missed)}",
     *by_size.map { |name, (some, of)| "  #{name}: #{some} of #{of}" },
     "no heap walk in #{without_walk.size} of these leaks#{list(without_walk.map { |one| refusal(one) })}",
     longest ? "longest stop by a heap walk: #{stop} (#{longest.truth["name"]})" : "longest stop by a heap walk: there was no walk"]
  end

  def enough? = named.then { |right, all| right >= WANTED * all }
  def short? = !longest || longest.walks.longest_stop <= LONGEST_STOP
  def stop = format("%.1f ms", longest.walks.longest_stop * 1000)

  private

  def right?(examination) = examination.long.keeper_right? == true
  def share(leaks) = [leaks.count { |one| right?(one) }, leaks.size]
  def list(texts) = texts.any? ? ": #{texts.join(", ")}" : ""
  def refusal(examination) = [examination.truth["name"], *(["(#{examination.walks.refused})"] if examination.walks.refused)].join(" ")
end
