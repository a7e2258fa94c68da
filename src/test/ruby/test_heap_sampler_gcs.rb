# frozen_string_literal: false
require 'test/unit'

# When GCs were, and those that the sampler asks for.
class TestHeapSamplerGCs < Test::Unit::TestCase
  def assert_sampled(script, settings: "interval=1k,output=none", timeout: 120)
    assert_separately(["-W0", "--disable=gems", "--heap-sample=#{settings}"], script, timeout: timeout)
  end

  def test_a_birth_has_its_time
    assert_sampled(<<~'RUBY')
      class Marked; end
      truth = {}
      keep = 12.times.map do
        rand(4).times { GC.start(full_mark: false) }
        GC.start if rand < 0.3
        from = Time.now
        objects = Array.new(2000) { Marked.new }
        truth[GC.count] = [from, Time.now]
        sleep 0.01
        objects
      end
      profile = GC.sample_profile.to_profile
      info, times = profile.info, profile.info.gc_times
      assert_equal [1, info.gc_count, info.gc_major], [times.first.gc, times.to_a.last.gc, times.to_a.last.majors]
      births = profile.rows.select { |row| row.class_name == "Marked" && row.birth_gc }.map(&:birth_gc).uniq
      known = births & truth.keys
      assert_operator known.size, :>=, 3
      known.each do |gc|
        earliest, latest = times.born(gc)
        from, to = truth[gc]
        assert_operator earliest - 0.002, :<=, to, gc
        assert_operator latest + 0.002, :>=, from, gc if latest
        assert_operator latest - earliest, :<, 5 if latest
      end
    RUBY
  end

  # GC.count went up by one at each of them.
  def test_many_gcs_are_thinned_and_a_child_knows_those_of_its_parent
    assert_sampled(<<~'RUBY')
      1000.times { GC.start(full_mark: false) }
      check = lambda do
        info = GC.sample_profile.to_profile.info
        times = info.gc_times.to_a
        assert_operator times.size, :<=, 384
        assert_equal 1, times.first.gc
        assert_equal [*info.gc_count - 127..info.gc_count], times.last(128).map(&:gc)
        assert_equal times.map(&:gc), times.map(&:gc).uniq.sort
        assert_equal times.map(&:time), times.map(&:time).sort
        assert_in_delta Time.now.to_f, times.last.time.to_f, 60
      end
      check.call
      pid = fork do
        GC.start
        check.call
        exit!(0)
      rescue Exception
        exit!(1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
    RUBY
  end
end
