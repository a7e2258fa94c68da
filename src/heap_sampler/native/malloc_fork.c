/* See native/malloc_fork.h. */
#include "heap_sampler/native/malloc_fork.h"
#include "internal/heap_sampler.h"

#include <stddef.h>

static struct {
    void (*before)(void), (*parent)(void), (*child)(void);      /* all or none */
} jemalloc;

void
rb_heap_sampler_malloc_fork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    if (!before || !parent || !child) return;
    jemalloc.before = before;
    jemalloc.parent = parent;
    jemalloc.child = child;
}

void
rb_hs_malloc_before_fork(void)
{
    if (jemalloc.before) jemalloc.before();
}

void
rb_hs_malloc_after_fork_in_parent(void)
{
    if (jemalloc.parent) jemalloc.parent();
}

void
rb_hs_malloc_after_fork_in_child(void)
{
    if (jemalloc.child) jemalloc.child();
}
