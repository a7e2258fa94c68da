#ifndef HEAP_SAMPLER_SLOTS_HOOKS_H
#define HEAP_SAMPLER_SLOTS_HOOKS_H
/* The hooks of the allocator and the GC: those that MRI calls are in internal/heap_sampler.h. */

/* Warn, once in the life of a process, when samples were lost for want of memory. [any] */
void rb_hs_warn_of_gaps(void);

#endif
