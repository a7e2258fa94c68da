# frozen_string_literal: true

# Healthy services. What fills and is full; what swings; what follows the load; what is replaced.
class Service
  # --- level

  healthy(:level) {}
  healthy(:level_spikes) { @sigma = share(1e-3, 3e-2); @spikes = between(0.1, 0.4) }
  healthy(:slow_waves) do # a working set that remembers some intervals
    memory = between(0.6, 0.93)
    bytes = share(1e-3, 0.05)
    state = 0.0
    swing { state = memory * state + Math.sqrt(1 - memory**2) * normal; bytes * state }
  end

  # --- warm-up

  healthy(:warms_up) { tau = scale(0.5, 16); settle(share(0.05, 2), tau); known(2.5 * tau) }
  healthy(:warms_up_spikes) { @sigma = share(1e-3, 3e-2); @spikes = 0.2; tau = scale(0.5, 6); settle(share(0.05, 1), tau); known(2.5 * tau) }
  healthy(:warms_up_slowly) do # popular entries come first: the rest takes long
    tau = scale(0.5, 10)
    bytes = share(0.05, 2)
    hold { |done, _| bytes * (1 - (1 + done / tau)**-1.5) }
    known(4 * tau)
  end
  healthy(:lazy_routes) do # each of some hundred actions loads its code when it is first asked for
    actions = scale(20, 400).to_i
    bytes = share(0.1, 1.5)
    tau = scale(1, 12)
    first = Array.new(actions) { tau * exponential }.sort
    hold { |done, _| bytes * (first.bsearch_index { |at| at > done } || actions) / actions }
    known(3 * tau)
  end
  healthy(:log_to_a_bound) do # a memo grows as a logarithm until it has every key
    all = scale(3, 60)
    tau = all / scale(3, 30)
    bytes = share(0.1, 1)
    hold { |done, _| bytes * Math.log(1 + [done, all].min / tau) / Math.log(1 + all / tau) }
    full(all)
  end
  healthy(:sessions) do # each lives for a while; as many come as go after that
    life = scale(1, 15)
    bytes = share(0.1, 1)
    each = bytes / scale(50, 5000)
    live = 0
    swing do |_, i|
      live += poisson(@load[i] * bytes / each / life) - [poisson(live / life), live].min
      live * each
    end
    known(3 * life)
  end

  # --- caches

  healthy(:cache_fills) do # evenly, with a table that doubles
    last = scale(2, 60)
    bytes = share(0.05, 2)
    fill(bytes, last)
    hold { |done, _| 0.15 * bytes / last * 2**Math.log2([[done, last].min, 1].max).floor }
    full(last)
  end
  healthy(:cache_of_popular) do
    tau = scale(1, 20)
    bytes = share(0.05, 2)
    cap = between(0.6, 0.95)
    hold { |done, _| bytes * [1 - Math.exp(-(done / tau)**0.7), cap].min }
    known(3.5 * tau)
  end
  healthy(:cache_fills_beyond_the_end) { fill(share(0.5, 3), @length * scale(1.2, 6)); never_known }
  healthy(:two_caches) do # the second begins when the first is full, or somewhat before
    first, second = scale(2, 25), scale(2, 25)
    fill(share(0.05, 1), first)
    fill(share(0.05, 1), second, from: first * between(0.6, 1.4))
    full(first * 1.4 + second)
  end
  healthy(:cache_by_bytes) do # entries of very different sizes; the oldest go when the limit is reached
    limit = share(0.05, 1)
    usual = limit / scale(30, 600)
    often = limit / usual / scale(2, 60)
    entries = []
    sum = 0.0
    filled = nil
    hold do |_, i|
      poisson(often * @load[i]).times do
        entries << [usual * pareto(1.5) / 3, limit / 4].min
        sum += entries.last
        (filled ||= i; sum -= entries.shift) while sum > limit
      end
      sum
    end
    filled ? full(filled) : never_known
  end
  healthy(:ttl) { life = scale(2, 40).to_i + 1; bytes = share(0.05, 1); window(bytes, life); full(life) }
  healthy(:ttl_bursts) do
    burst = between(2, 8)
    on = scale(0.03, 0.3)
    load { chance?(on) ? burst : 1 }
    life = scale(2, 30).to_i + 1
    window(share(0.05, 0.6), life)
    full(life)
  end
  healthy(:cache_cleared) do # filled again and again: a deploy of templates, a flush by an operator
    period, tau = scale(4, 40), scale(1, 8)
    bytes = share(0.05, 0.6)
    swing { |_, i| bytes * (1 - Math.exp(-(i % period) / tau)) }
    known([1.5 * period, 2.5 * tau].min)
  end

  # --- steps

  healthy(:one_step) { at = between(2, @length - 4); bytes = share(0.01, 1); hold { |_, i| i >= at ? bytes : 0 } }
  healthy(:table_doubles) do # entries are replaced, the table of the store doubles at times
    at = between(1, 2)
    bytes = share(0.002, 0.1)
    hold { |done, _| bytes * 2**[Math.log2([done / at, 1].max).floor, 6].min }
  end
  healthy(:deploys) do # code is loaded anew; the old goes a while later, and the new is a little larger or smaller
    period = scale(10, 80)
    late = scale(0.5, 6)
    code = share(0.02, 0.3)
    sizes = Array.new(@length) { 1 + 0.05 * normal }
    swing { |_, i| release, age = i.divmod(period); code * (sizes[release] + (release.positive? && age < late ? sizes[release - 1] : 0)) }
  end
  healthy(:records) do # a pool that has room for the most that was ever needed at once, up to its limit
    most = 0.0
    limit = between(2.5, 5)
    bytes = share(0.005, 0.1)
    hold { bytes * most = [most, [exponential, limit].min].max }
    known(10)
  end
  healthy(:peer_fails) do # its traffic comes here as well, and working set and cache grow with it
    at = between(3, @length - 3)
    more = between(1.3, 2.2)
    load { |i| i < at ? 1 : more }
    bytes = share(0.1, 0.8)
    tau = scale(0.3, 4)
    swing { |_, i| bytes * (i < at ? 1 : more - (more - 1) * Math.exp(-(i - at) / tau)) }
    known(at + 2.5 * tau)
  end

  # --- swings

  healthy(:sawtooth) { period = scale(3, 50); bytes = share(0.02, 1); from = between(0, period); swing { |_, i| bytes * (((i + from) % period) / period) }; known(1.5 * period) }
  healthy(:flushes) do # a buffer that is sent away when it is full, or after a while
    period = scale(2, 20)
    bytes = share(0.01, 0.3)
    content = 0.0
    swing { |_, i| content = content > period || chance?(0.02) ? 0 : content + @load[i]; bytes * content / period }
    known(1.5 * period)
  end
  healthy(:compacts) do # something small piles up until GC.compact, or the autotuner, runs
    period = scale(8, 40)
    bytes = share(0.005, 0.05)
    at = 0.0
    swing { |_, i| at = i if i - at > period * between(0.7, 1.3); bytes * (i - at) / period }
    known(1.5 * period)
  end
  healthy(:reloads) { period = scale(3, 15); bytes = share(0.05, 0.5); swing { |_, i| ((i % period) < 1 ? bytes : 0) + 0.1 * bytes * between(0, 1) } }
  healthy(:queue) { bytes = share(0.01, 0.2); length = 0.0; swing { length = [length * 0.93 + 0.8 * normal, 0].max; bytes * length } }
  healthy(:retries) do # what failed waits while another service is down, and is sent when it is up
    from = between(0, @length * 0.6)
    down = scale(3, 40)
    bytes = share(0.05, 1)
    swing { |_, i| bytes * (i < from + down ? [(i - from) / down, 0].max : [1 - (i - from - down) / (0.3 * down), 0].max) }
    known(from + down * 1.3)
  end
  healthy(:batch) do # a job piles up its results and drops them, perhaps again and again
    from = between(0, 20)
    to = from + scale(3, 30)
    again = chance?(0.5) ? to + between(2, 20) : Float::INFINITY
    bytes = share(0.1, 2)
    swing { |_, i| i %= again if again.finite?; i.between?(from, to) ? bytes * (i - from) / (to - from) : 0 }
    known(to + 4)
  end
  healthy(:nightly_job) do # a report needs twice the memory for an eighth of the day
    period = scale(16, 100)
    bytes = share(0.3, 1.5)
    from = between(0, period)
    swing { |_, i| ((i + from) % period) > period * 7 / 8 ? bytes : 0 }
  end

  # --- what follows the load

  healthy(:day) { load(&day(scale(20, 200), night: 0.02)); bytes = share(0.05, 1); swing { |_, i| bytes * @load[i] } }
  healthy(:week) do
    period = scale(6, 40)
    shape = day(period)
    load { |i| shape.(i) * ((i / period) % 7 < 5 ? 1 : 0.3) }
    bytes = share(0.05, 1)
    swing { |_, i| bytes * @load[i] }
  end
  healthy(:load_rises) { period = scale(8, 60); most = between(1.5, 4); load { |i| 1 + (most - 1) * [i / period, 1].min }; bytes = share(0.1, 1); swing { |_, i| bytes * @load[i] } }
  healthy(:load_rises_all_the_time) { most = between(1.2, 3); load { |i| 1 + (most - 1) * i / @length }; bytes = share(0.1, 1); swing { |_, i| bytes * @load[i] } }
  healthy(:autoscaling) do # machines come and go, and this one has its part of the load: up until another one comes
    rise = scale(8, 50)
    machines = 2
    now = 0
    load { |i| now = i if i - now > rise * between(0.8, 1.2); (1 + (i - now) / rise) * 2 / machines }
    bytes = share(0.1, 0.8)
    swing { |_, i| bytes * @load[i] }
  end
  healthy(:warms_up_under_rising_load) do
    most = between(1.2, 2.5)
    period = scale(10, 80)
    load { |i| 1 + (most - 1) * [i / period, 1].min }
    tau = scale(1, 12)
    settle(share(0.05, 1), tau)
    bytes = share(0.05, 0.5)
    swing { |_, i| bytes * @load[i] }
    known(2.5 * tau)
  end
  healthy(:cheaper_after_a_deploy) do # half of the allocations, the same memory
    at = between(5, @length - 5)
    less = between(0.3, 0.8)
    load { |i| i < at ? 1 : less }
    code = share(0.001, 0.02)
    hold { |_, i| i < at ? 0 : code }
  end
  healthy(:idle_after) { stop = between(8, 40); load { |i| i < stop ? 1 : 0.001 } }

  private

  # What came in the last +life+ intervals; +bytes+ at the usual load.
  def window(bytes, life) = swing { |done, i| bytes / life * (done - (i >= life ? work[i - life] : 0)) }
end
