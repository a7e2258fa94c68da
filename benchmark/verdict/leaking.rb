# frozen_string_literal: true

# Services that leak, and at the end some that grow for ever, but ever more slowly.
class Service
  # --- evenly

  leak(:even) { leak }
  leak(:slow) { @sigma = (rate = @rss * 0.01 * 2**between(0, 3) / 60) * scale(0.1, 4); leak(rate); } # 1 – 8% of RSS an hour, a point a minute
  leak(:boots) { tau = scale(0.5, 4); r = rate; settle(r * between(2, 20), tau); leak(r); begins(2 * tau) }
  leak(:spikes) { leak(rate(scale(0.05, 0.5))); big = @sigma * scale(10, 100); swing { chance?(0.25) ? big * exponential : 0 } }
  leak(:large_spikes) { r = rate(scale(0.01, 0.3)); leak(r); swing { chance?(0.4) ? r * 10 * exponential : 0 } }
  leak(:threads) do # a count, not bytes
    @base = between(8, 30).round
    @rss = @base * 40.0 # 20% of the count
    @held.fill(@base)
    @spikes = @sigma = 0
    sum = 0
    r = scale(0.25, 2)
    lose { |_, i| sum += poisson(r * @load[i]) }
  end

  # --- in portions

  leak(:by_a_job) { every = between(1, 3); r = rate * every; lose { |_, i| r * (i / every).floor } }
  leak(:rare_requests) { r = rate; often = scale(0.7, 4); sum = 0.0; lose { |_, i| sum += Array.new(poisson(often * @load[i])) { exponential }.sum * r / often } }
  leak(:tenants) { r = rate; often = scale(0.5, 3); sum = 0.0; lose { |_, i| sum += Array.new(poisson(often * @load[i])) { [pareto(1.6), 30].min }.sum * r / often / 2.4 } }
  leak(:error_bursts) do # only while something fails
    on = false
    length = scale(1.5, 5)
    leak { on = !on if chance?(1 / length); on ? 1.5 : 0.3 }
  end
  leak(:entries_and_table) { r = rate; leak(r); hold { |done, _| 0.25 * r * 2**Math.log2([done, 1].max).floor } }

  # --- with a change

  leak(:begins_late) { at = between(5, @length * 0.4); begins(at); r = rate; lose { |done, _| r * [done - work[at.to_i], 0].max } }
  leak(:begins_with_a_deploy) do # a step, other work, and then it leaks
    at = between(6, @length * 0.4)
    begins(at)
    less = between(0.6, 1.6)
    load { |i| i < at ? 1 : less }
    r = rate
    code = r * between(-10, 20)
    hold { |_, i| i < at ? 0 : code }
    lose { |done, _| r * [done - work[at.to_i], 0].max }
  end
  leak(:rate_halves) { at = between(0.3, 0.8) * @length; leak { |i| @load[i] * (i < at ? 1 : 0.5) } }
  leak(:rate_doubles) { at = between(0.2, 0.7) * @length; leak { |i| @load[i] * (i < at ? 1 : 2) } }
  leak(:new_users_first) { r = rate; tau = scale(3, 15); begins(2 * tau); settle(r * tau * between(0.5, 2), tau); leak(r) }

  # --- together with something healthy

  leak(:cache_and_leak) { r = rate; last = scale(2, 12); fill(r * between(1, 15), last); begins(last); leak(r) }
  leak(:two_caches_and_leak) { r = rate; fill(r * between(1, 8), 4); fill(r * between(1, 8), 6, from: 5); begins(11); leak(r) }
  leak(:sawtooth_and_leak) { r = rate; period = between(2, 6); bytes = r * between(1, 6); leak(r); swing { |_, i| bytes * ((i % period) / period) } }
  leak(:beside_a_large_sawtooth) { r = rate; period = scale(4, 30); bytes = r * scale(10, 100); from = between(0, period); leak(r); swing { |_, i| bytes * (((i + from) % period) / period) } }
  leak(:ttl_and_leak) { r = rate; life = scale(2, 15).to_i + 1; window(r * scale(1, 20), life); begins(life); leak(r) }
  leak(:cache_cleared_and_leak) { r = rate; period = scale(5, 25); tau = scale(1, 5); bytes = r * scale(2, 20); leak(r); swing { |_, i| bytes * (1 - Math.exp(-(i % period) / tau)) } }
  leak(:queue_and_leak) { r = rate; bytes = r * scale(0.3, 5); length = 0.0; leak(r); swing { length = [length * 0.9 + 0.8 * normal, 0].max; bytes * length } }
  leak(:compacts_and_leaks) { r = rate; period = scale(8, 30); leak(r); swing { |_, i| r * 0.3 * (i % period) } }
  leak(:deploys_and_leak) do
    r = rate
    period = scale(10, 60)
    leak(r)
    swing { |_, i| i > period && i % period < 2 ? r * 15 : 0 }
  end

  # --- under a load that changes

  leak(:bursts) { on = between(14, 30); load { |i| i % (2 * on) < on ? 1 : 0.001 }; leak }
  leak(:day_and_leak) { load(&day(scale(20, 80))); r = rate; bytes = r * between(0, 10); leak(r); swing { |_, i| bytes * @load[i] } }
  leak(:week_and_leak) { period = scale(6, 40); shape = day(period); load { |i| shape.(i) * ((i / period) % 7 < 5 ? 1 : 0.3) }; leak }
  leak(:rising_load) { most = between(1.3, 4); load { |i| 1 + (most - 1) * i / @length }; leak }
  leak(:rising_load_and_working_set) { most = between(1.3, 2.5); load { |i| 1 + (most - 1) * i / @length }; r = rate; leak(r); bytes = r * between(1, 10); swing { |_, i| bytes * @load[i] } }
  leak(:falling_load) { least = between(0.3, 0.8); load { |i| 1 - (1 - least) * i / @length }; leak }
  leak(:by_a_timer) { load(&day(scale(10, 60), night: 0.3)); leak { 1 } } # whatever the load is

  # --- ever more slowly

  slows(:logarithm) { r = rate; tau = scale(1, 8); lose { |done, _| r * 10 * Math.log(1 + done / tau) } }
  slows(:root) { r = rate; lose { |done, _| r * 6 * Math.sqrt(done) } }
  slows(:vocabulary) { r = rate; power = between(0.5, 0.8); lose { |done, _| r * 4 * done**power } } # a memo of words, by Heaps' law
  slows(:buffer_doubles) { r = rate; lose { |done, _| r * 2**Math.log2([done, 1].max).floor } }      # one buffer; counts see four doublings
  slows(:table_grows_by_half) { r = rate; lose { |done, _| r * 1.5**Math.log([done, 1].max, 1.5).floor } }
end
