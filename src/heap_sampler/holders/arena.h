#ifndef HEAP_SAMPLER_HOLDERS_ARENA_H
#define HEAP_SAMPLER_HOLDERS_ARENA_H
/*
 * Memory of the child that walks the heap.
 *
 * The child may not call malloc(3): another thread of its parent may have held
 * a lock of malloc's when it came to be.  So each table asks the kernel for as
 * much as it may ever need, and only what is touched is memory.  Nothing is
 * given back: the child ends soon.
 *
 * A child has one thread: no lock.
 */
#include <stddef.h>
#include <stdint.h>

/* Zeroes; NULL: the kernel has no addresses left, or the process's limit (ulimit -v) is reached. */
void *rb_hs_arena_map(size_t bytes);
/* What of all that was mapped is in memory, bytes. */
uint64_t rb_hs_arena_resident(void);

#endif
