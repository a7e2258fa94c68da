/*
 * What YJIT's compiler allocates.
 *
 * While a program starts, this compiler makes and drops gigabytes of small vectors: it made 17,000 of 17,800 samples while
 * Active Record started.  So jemalloc draws no sample there.  A draw that falls into the compiler is dropped and the next
 * one begins, which makes no byte outside more or less likely.
 */
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/epochs.h"

/* yjit/src/stats.rs; absent where YJIT is not built. */
extern size_t rb_yjit_alloc_size(void) __attribute__((weak));

static struct {
    uint32_t thread;
    uint64_t allocated;         /* atomic */
    int64_t held;               /* by the thread's own compilations; atomic */
    uint64_t held_at_start;
} session[HS_SESSIONS];

/* Of the compilation that this thread is in. */
static _Thread_local struct {
    uint64_t allocated, held;
} at_start;

static uint64_t
held(void)
{
    return rb_yjit_alloc_size ? rb_yjit_alloc_size() : 0;
}

void
rb_hs_yjit_session_start(int s, uint32_t thread)
{
    session[s].thread = thread;
    session[s].held_at_start = held();
    __atomic_store_n(&session[s].allocated, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&session[s].held, 0, __ATOMIC_RELAXED);
}

void
rb_hs_yjit_begins(void)
{
    at_start.allocated = rb_hs_allocator_thread_allocated();
    at_start.held = held();
}

void
rb_hs_yjit_ends(uint32_t thread)
{
    uint64_t allocated = rb_hs_allocator_thread_allocated() - at_start.allocated;
    for (int s = 0; s < HS_SESSIONS; s++) {
        if (session[s].thread && session[s].thread != thread) continue;
        __atomic_add_fetch(&session[s].allocated, allocated, __ATOMIC_RELAXED);
        __atomic_add_fetch(&session[s].held, (int64_t)(held() - at_start.held), __ATOMIC_RELAXED);
    }
}

/* What a thread's compilations have made and YJIT has freed since is no thread's, and not counted. */
struct hs_yjit_memory
rb_hs_yjit_memory(int s)
{
    uint64_t born = __atomic_load_n(&session[s].allocated, __ATOMIC_RELAXED);
    int64_t kept = session[s].thread ? __atomic_load_n(&session[s].held, __ATOMIC_RELAXED) : (int64_t)(held() - session[s].held_at_start);
    uint64_t inuse = kept > 0 ? (uint64_t)kept : 0;
    /* What was made before the first compilation was not counted as allocated. */
    return (struct hs_yjit_memory){.born = born > inuse ? born : inuse, .inuse = inuse};
}
