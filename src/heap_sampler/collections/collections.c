/* See collections/collections.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"

static struct hs_gc_times times;        /* [read], [write]; of the clock that never goes back */

void
rb_heap_sampler_on_gc_start(bool full_mark)
{
    HS_CONTRACT(gc);
    HS_CONTRACT(free);
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    struct hs_gc_time begun = {rb_hs_steady_ns(), (uint32_t)counts.gc, (uint32_t)(counts.major + full_mark)};
    rb_hs_lock();
    rb_hs_gc_times_add(&times, &begun);
    rb_hs_unlock();
}

void
rb_hs_gc_times_copy(struct hs_gc_times *copy)
{
    HS_CONTRACT(tables);
    uint64_t ago = rb_hs_now_ns() - rb_hs_steady_ns();
    copy->count = times.count;
    for (uint32_t i = 0; i < times.count; i++) {
        copy->list[i] = times.list[i];
        copy->list[i].ns += ago;
    }
}
