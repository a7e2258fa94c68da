/* See collections/collections.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"

/* What a major takes for each live slot, before one was measured: 60 to 85 ns were, sweeping included, at 28 thousand to 4
 * million slots. */
enum { GUESSED_NS_PER_SLOT = 100 };

/* A GC and its price. */
struct collection {
    bool major, asked;
    uint64_t live_slots;        /* when it began */
    uint64_t ns;                /* what all before it took; of the last that is over: what it took */
};

/* All: [read], [write]. */
static struct hs_gc_times times;        /* of the clock that does not go back */
static struct collection present;       /* the last that began */
static struct collection last_major;    /* that is over, sweeping too */
static struct hs_asked_gcs asked;
static uint64_t asked_since_ns;         /* of the clock that does not go back */
static uint64_t majors_ended;           /* atomic */
static bool asking;                     /* [vm] */

uint64_t
rb_hs_slots(bool live)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t slots = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) slots += live ? counts.heap[i].live_slots : counts.heap[i].total_slots;
    return slots;
}

/* What the present GC has taken so far. */
static uint64_t
price_so_far(const struct rb_heap_sampler_gc_counts *counts)
{
    if (!counts->timed) return present.live_slots * GUESSED_NS_PER_SLOT;
    return counts->gc_ns - present.ns;
}

static void
settle_present(const struct rb_heap_sampler_gc_counts *counts)
{
    uint64_t ns = price_so_far(counts);
    if (!present.major) return;
    last_major = present;
    last_major.ns = ns;
    if (present.asked) asked.ns += ns;
}

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
    settle_present(&counts);
    present = (struct collection){full_mark, asking && full_mark, rb_hs_slots(true), counts.gc_ns};
    asked.count += present.asked;
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

void
rb_hs_gc_mark_ended(bool full_mark)
{
    HS_CONTRACT(gc);
    if (full_mark) __atomic_add_fetch(&majors_ended, 1, __ATOMIC_RELAXED);
}

uint64_t
rb_hs_majors_ended(void)
{
    return __atomic_load_n(&majors_ended, __ATOMIC_RELAXED);
}

/* -- asking for a major ------------------------------------------------------------ */

void
rb_hs_asked_limit(uint32_t ppm)
{
    rb_hs_lock();
    asked.limit_ppm = ppm;
    if (!asked_since_ns) asked_since_ns = rb_hs_steady_ns();
    rb_hs_unlock();
}

void
rb_hs_asked_forget(void)
{
    rb_hs_lock();
    asked = (struct hs_asked_gcs){0};
    asked_since_ns = 0;
    present.asked = false;
    rb_hs_unlock();
}

struct hs_asked_gcs
rb_hs_asked_gcs(void)
{
    HS_CONTRACT(tables);
    struct rb_heap_sampler_gc_counts counts;
    struct hs_asked_gcs now = asked;
    rb_heap_sampler_gc_counts(&counts);
    if (present.asked) now.ns += price_so_far(&counts);
    now.of_ns = asked_since_ns ? rb_hs_steady_ns() - asked_since_ns : 0;
    return now;
}

/* It takes time for each slot, and there may be more of them by now. */
static double
price_of_next(void)
{
    double slots = (double)rb_hs_slots(true);
    if (!last_major.live_slots) return slots * GUESSED_NS_PER_SLOT;
    double price = (double)last_major.ns, growth = slots / (double)last_major.live_slots;
    return growth > 1 ? price * growth : price;
}

bool
rb_hs_asked_affordable_p(void)
{
    rb_hs_lock();
    struct hs_asked_gcs now = rb_hs_asked_gcs();
    double price = (double)now.ns + price_of_next();
    rb_hs_unlock();
    return price <= (double)now.of_ns * now.limit_ppm / 1e6;
}

bool
rb_hs_asked_begin(uint32_t step_slots)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    bool begun = false;
    RB_VM_LOCK_ENTER();
    {
        asking = true;
        begun = rb_heap_sampler_gc_start_major(step_slots);
        asking = false;
    }
    RB_VM_LOCK_LEAVE();
    return begun;
}

void
rb_hs_asked_note(enum hs_asked_last last)
{
    rb_hs_lock();
    asked.last = last;
    rb_hs_unlock();
}
