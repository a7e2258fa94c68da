/* See sampling/sessions.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/store/store.h"
#include "heap_sampler/store/page_table.h"

static struct hs_session_start starts[HS_SESSIONS];
static uint64_t last_serial;

const struct hs_session_start *
rb_hs_session_started(int session)
{
    return &starts[session];
}

const struct hs_session *
rb_hs_session(int session)
{
    return &rb_hs_slot_store.session[session];
}

static struct hs_limits usual;  /* in force while HS_MAIN has no limits of its own */

void
rb_hs_session_limits(const struct hs_limits *limits)
{
    rb_hs_lock();
    usual = rb_hs_slot_store.limits = *limits;
    rb_hs_unlock();
}

/* Lock. */
static void
set_limits(const struct hs_limits *limits, bool sow)
{
    rb_hs_slot_store.limits = *limits;
    if (sow) rb_hs_random_seed(&rb_hs_slot_store.random, limits->seed);
}

/* From here on no other Ractor allocates; returns the depth of the VM lock. */
static unsigned int
begin_change(void)
{
    unsigned int level;
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    RB_VM_LOCK_ENTER_LEV(&level);
    rb_vm_barrier();
    rb_hs_lock();
    return level;
}

/* Every free list is cut again for the interval that came out of it. */
static void
end_change(unsigned int level)
{
    rb_hs_unlock();
    rb_heap_sampler_gc_recut();
    rb_hs_check(HS_CHECK_ANY);
    RB_VM_LOCK_LEAVE_LEV(&level);
}

/* An exact run takes what memory it needs. */
static bool
begin(int session, uint64_t interval, uint32_t thread)
{
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    rb_hs_memory_bound(rb_hs_slot_store.limits.max_samples != 0);
    starts[session] = (struct hs_session_start){.serial = ++last_serial, .ns = rb_hs_now_ns()};
    for (uint32_t i = 0; i < counts.heap_count && i < HS_HEAPS_MAX; i++) starts[session].live[i] = counts.heap[i].live_slots;
    return rb_hs_store_begin(&rb_hs_slot_store, session, interval, thread);
}

/* -1: all are taken. */
static int
free_session(bool main)
{
    if (main) return rb_hs_slot_store.session[HS_MAIN].on ? -1 : HS_MAIN;
    int s = HS_MAIN + 1;
    while (s < HS_PROFILES && rb_hs_slot_store.session[s].on) s++;
    return s < HS_PROFILES ? s : -1;
}

int
rb_hs_session_start(const struct hs_session_settings *settings, bool main)
{
    unsigned int level = begin_change();
    int session = free_session(main);
    bool ok = session >= 0;
    if (ok) {
        if (settings->limits) set_limits(settings->limits, settings->sow);
        ok = begin(session, settings->interval, settings->thread);
        if (main) rb_hs_automatic(settings->automatic);
        if (main && !ok) rb_hs_slot_store.limits = usual;
    }
    end_change(level);
    if (session < 0) return session;
    if (!ok) return -2;
    if (settings->malloc_interval && !rb_hs_malloc_start(session, settings->malloc_interval, settings->thread)) {
        rb_hs_session_stop(session);
        return -2;
    }
    if (main) rb_hs_malloc_automatic(settings->malloc_automatic);
    return session;
}

bool
rb_hs_session_listen(int session, uint64_t interval)
{
    unsigned int level = begin_change();
    bool ok = begin(session, interval, 0);
    end_change(level);
    return ok;
}

void
rb_hs_session_stop(int session)
{
    rb_hs_malloc_stop(session);
    unsigned int level = begin_change();
    rb_hs_store_end(&rb_hs_slot_store, session);
    if (session == HS_MAIN) rb_hs_slot_store.limits = usual;
    if (!rb_heap_sampler_drawing) rb_hs_forget_freed();
    end_change(level);
}

bool
rb_hs_session_retune(int session, uint64_t interval, bool automatic)
{
    unsigned int level = begin_change();
    if (session == HS_MAIN) rb_hs_automatic(automatic);
    bool ok = rb_hs_slot_store.session[session].interval == interval || rb_hs_store_retune(&rb_hs_slot_store, session, interval);
    end_change(level);
    return ok;
}

void
rb_hs_session_limit(const struct hs_limits *limits, bool sow)
{
    unsigned int level = begin_change();
    set_limits(limits, sow);
    rb_hs_memory_bound(limits->max_samples != 0);
    rb_hs_store_widen(&rb_hs_slot_store);
    end_change(level);
}
