#ifndef HEAP_SAMPLER_EXTENDING_EXTENDING_H
#define HEAP_SAMPLER_EXTENDING_EXTENDING_H
/*
 * What others may build on: the C API of include/ruby/heap_sampler.h, the event
 * in vm_trace.c, and USDT probes.  All of it: [gvl] [free].
 */

/* Options are read. */
void rb_hs_extending_boot(void);
/* What waits for a safe point is told now. */
void rb_hs_tell_listeners(void);

/* In a child. */
void rb_hs_extending_after_fork(void);

#endif
