#ifndef HEAP_SAMPLER_HOLDERS_FIBER_WAITS_H
#define HEAP_SAMPLER_HOLDERS_FIBER_WAITS_H
/*
 * What a fiber waits for under a scheduler: Queue#pop, SizedQueue#push, Mutex#lock
 * and Thread#join call Fiber::Scheduler#block(blocker, timeout), which lets other
 * fibers run.  Its frames are then
 *
 *     the scheduler's own     transfer, …
 *     block                   self: the scheduler; blocker, timeout
 *     Queue#pop               self: the blocker
 *
 * Where a time limit is given, a timer of the scheduler's will wake it.
 *
 * In the child.
 */
#include "ruby/ruby.h"

struct rb_control_frame_struct;

/* The frame of the method that waits, whose receiver is what it waits for. NULL: it runs, has not begun, or waits for a time, or
 * for what is no such object. */
const struct rb_control_frame_struct *rb_hs_fiber_waits_in(VALUE fiber);

#endif
