#ifndef HEAP_SAMPLER_PROCESS_SAFE_POINT_H
#define HEAP_SAMPLER_PROCESS_SAFE_POINT_H
/*
 * What needs the GVL, asked for by a thread that does not have it: it is done
 * at the next safe point of Ruby code, where a thread looks for interrupts, or
 * not at all.  Ruby code may be in a long call of C: whoever asks sets a
 * deadline.
 */
#include <stdbool.h>

/* From now on it can be asked for. [gvl] */
void rb_hs_safe_point_boot(void);
/* In the child nobody waits any more. [gvl] */
void rb_hs_safe_point_after_fork(void);

/* Calls `call` at a safe point, on a thread that holds the GVL, and returns when it is done. It raises nothing and takes
 * little time. false: no safe point was reached within `ms` milliseconds, and it will not be called. A thread that does not hold
 * the GVL; several may ask at once. */
bool rb_hs_at_safe_point(void (*call)(void *data), void *data, unsigned ms);

/* Stacks of malloc that have no name yet get it, if a safe point comes within a tenth of a second. A thread without the GVL. */
void rb_hs_name_at_safe_point(void);

#endif
