# frozen_string_literal: true

# The stacks that the threads of a process stand in, as gdb sees them; for one that does not go on.
class Hang
  # `file`: where the stacks are kept.
  def initialize(pid, file)
    # nil without gdb: then nothing is known of any thread.
    system('gdb', '-p', pid.to_s, '-batch', '-ex', 'thread apply all bt', in: File::NULL, out: file, err: File::NULL)
    @stacks = File.exist?(file) ? File.binread(file).split(/^Thread \d+ /n).drop(1) : []
  end

  # MRI's own deadlock of three threads: one comes back for the GVL, holds its Ractor's scheduler and waits for a barrier
  # to end; a Ractor that ends waits for that scheduler to wake who takes from it; and the barrier waits for that Ractor.
  # None of the three may be in the sampler.
  def barrier_deadlock?
    theirs = @stacks.grep_v(/rb_hs_|heap_sampler/n)
    [/rb_ractor_sched_barrier_start/n, /ractor_sched_barrier_join_wait_locked.*thread_sched_setup_running_threads/mn,
     /rb_native_mutex_lock.*rb_ractor_sched_wakeup/mn].all? { |calls| theirs.any?(calls) }
  end
end
