/* See sampling/yjit.h. */
#include "heap_sampler/sampling/yjit.h"
#include "heap_sampler/store/epochs.h"
#include "heap_sampler/sampling/allocator.h"

#include <stddef.h>

/* yjit/src/stats.rs; absent where YJIT is not built. */
extern size_t rb_yjit_alloc_size(void) __attribute__((weak));

static struct {
    uint32_t thread;
    uint64_t born;              /* atomic */
    int64_t kept;               /* by the thread's own compilations; atomic */
    uint64_t live_at_start;
} session[HS_SESSIONS];

/* Of the compilation that this thread is in. */
static _Thread_local struct {
    uint64_t allocated, live;
} at_start;

static uint64_t
live(void)
{
    return rb_yjit_alloc_size ? rb_yjit_alloc_size() : 0;
}

void
rb_hs_yjit_session_start(int s, uint32_t thread)
{
    session[s].thread = thread;
    session[s].live_at_start = live();
    __atomic_store_n(&session[s].born, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&session[s].kept, 0, __ATOMIC_RELAXED);
}

void
rb_hs_yjit_begins(void)
{
    at_start.allocated = rb_hs_allocator_thread_allocated();
    at_start.live = live();
}

void
rb_hs_yjit_ends(uint32_t thread)
{
    uint64_t born = rb_hs_allocator_thread_allocated() - at_start.allocated;
    int64_t kept = (int64_t)(live() - at_start.live);
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (session[s].thread && session[s].thread != thread) continue;
        __atomic_add_fetch(&session[s].born, born, __ATOMIC_RELAXED);
        __atomic_add_fetch(&session[s].kept, kept, __ATOMIC_RELAXED);
    }
}

/* What a thread's compilations have made and YJIT has let go of since, nobody
 * counts: it is no thread's. */
struct hs_yjit_memory
rb_hs_yjit_memory(int s)
{
    uint64_t born = __atomic_load_n(&session[s].born, __ATOMIC_RELAXED);
    int64_t kept = (int64_t)(live() - session[s].live_at_start);
    if (session[s].thread) kept = __atomic_load_n(&session[s].kept, __ATOMIC_RELAXED);
    uint64_t inuse = kept > 0 ? (uint64_t)kept : 0;
    /* What was made before the first compilation was not counted as born. */
    return (struct hs_yjit_memory){.born = born > inuse ? born : inuse, .inuse = inuse};
}
