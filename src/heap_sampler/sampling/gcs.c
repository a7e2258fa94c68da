/* See sampling/gcs.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"

/* For each live slot, before one was measured: a major GC took 60 to 85 ns, sweeping included, at 28 thousand to 4 million slots,
 * and a walk 43 to 65 ns on an idle machine. One that takes more is paid for before the next. */
enum { GUESSED_NS_PER_SLOT = 100,
       GUESSED_WALK_NS_PER_SLOT = 60 };

/* A GC and its price. */
struct collection {
    bool major, forced;
    uint64_t live_slots;        /* when it began */
    uint64_t ns;                /* what all before it took; of the last that is over: what it took */
};

/* All: [read], [write]. */
static struct hs_gc_times times;        /* of the clock that does not go back */
static struct collection present;       /* the last that began */
static struct collection last_major;    /* that is over, sweeping too */
static struct collection last_walk;     /* that was forced; ns 0: there was none */
static struct hs_forced forced;         /* without what the present GC takes */
static struct hs_budget budget;         /* the same; since_ns: the clock that does not go back */
static uint64_t process_began_ns;       /* of that clock */
static uint64_t majors_ended;           /* atomic */
static struct hs_marks marks;
static bool forcing;                    /* [vm] */

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
    if (!present.forced) return;
    forced.gc_ns += ns;
    budget.gc_ns += (double)ns;
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
    present = (struct collection){full_mark, forcing && full_mark, rb_hs_slots(true), counts.gc_ns};
    forced.gcs += present.forced;
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
    HS_CONTRACT(write);
    marks.count++;
    *(full_mark ? &marks.major_ns : &marks.minor_ns) = rb_hs_now_ns();
    if (full_mark) marks.major_gc = rb_gc_count();
    if (full_mark) __atomic_add_fetch(&majors_ended, 1, __ATOMIC_RELAXED);
}

const struct hs_marks *
rb_hs_marks(void)
{
    return &marks;
}

uint64_t
rb_hs_majors_ended(void)
{
    return __atomic_load_n(&majors_ended, __ATOMIC_RELAXED);
}

/* -- forced work ------------------------------------------------------------------- */

void
rb_hs_forced_begin(void)
{
    rb_hs_lock();
    process_began_ns = rb_hs_steady_ns();
    forced = (struct hs_forced){0};
    budget = (struct hs_budget){.since_ns = process_began_ns};
    present.forced = false;
    rb_hs_unlock();
}

static uint64_t
forced_of_present(void)
{
    struct rb_heap_sampler_gc_counts counts;
    if (!present.forced) return 0;
    rb_heap_sampler_gc_counts(&counts);
    return price_so_far(&counts);
}

struct hs_forced
rb_hs_forced(void)
{
    HS_CONTRACT(tables);
    struct hs_forced now = forced;
    now.gc_ns += forced_of_present();
    now.of_ns = rb_hs_steady_ns() - process_began_ns;
    return now;
}

static struct hs_budget
budget_now(void)
{
    struct hs_budget now = budget;
    now.gc_ns += (double)forced_of_present();
    return now;
}

/* It takes time for each slot, and there may be more of them by now. */
static double
price_of_next(const struct collection *last, unsigned guessed_ns_per_slot)
{
    double slots = (double)rb_hs_slots(true);
    if (!last->live_slots) return slots * guessed_ns_per_slot;
    double price = (double)last->ns, growth = slots / (double)last->live_slots;
    return growth > 1 ? price * growth : price;
}

/* One that is demanded costs nothing in advance: it is paid for before the next. */
uint64_t
rb_hs_forced_wait(uint32_t ppm)
{
    rb_hs_lock();
    struct hs_budget now = budget_now();
    rb_hs_unlock();
    return rb_hs_budget_wait(&now, rb_hs_steady_ns(), ppm, 0);
}

bool
rb_hs_forced_gc_due_p(uint32_t ppm)
{
    rb_hs_lock();
    double price = price_of_next(&last_major, GUESSED_NS_PER_SLOT);
    struct hs_budget now = budget_now();
    rb_hs_unlock();
    return rb_hs_budget_gc_due_p(&now, rb_hs_steady_ns(), ppm, price);
}

bool
rb_hs_forced_walk_due_p(uint32_t ppm)
{
    rb_hs_lock();
    double price = price_of_next(&last_walk, GUESSED_WALK_NS_PER_SLOT);
    struct hs_budget now = budget_now();
    rb_hs_unlock();
    return !rb_hs_budget_wait(&now, rb_hs_steady_ns(), ppm, price);
}

static void
note_stop(uint64_t ns)
{
    rb_hs_lock();
    if (forced.stop_ns < ns) forced.stop_ns = ns;
    rb_hs_budget_forget(&budget, rb_hs_steady_ns());
    rb_hs_unlock();
}

bool
rb_hs_forced_gc(uint32_t step_slots)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    uint64_t began = rb_hs_steady_ns();
    bool begun = false;
    RB_VM_LOCK_ENTER();
    {
        forcing = true;
        begun = rb_heap_sampler_gc_start_major(step_slots);
        forcing = false;
    }
    RB_VM_LOCK_LEAVE();
    if (begun) note_stop(rb_hs_steady_ns() - began);
    return begun;
}

void
rb_hs_forced_gc_step(uint32_t step_slots)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    uint64_t began = rb_hs_steady_ns();
    rb_heap_sampler_gc_step_major(step_slots);
    note_stop(rb_hs_steady_ns() - began);
}

void
rb_hs_forced_walk(uint64_t ns, uint64_t stop_ns)
{
    rb_hs_lock();
    last_walk = (struct collection){.live_slots = rb_hs_slots(true), .ns = ns + stop_ns};
    forced.walks++;
    forced.walk_ns += ns + stop_ns;
    budget.walk_ns += (double)(ns + stop_ns);
    rb_hs_unlock();
    note_stop(stop_ns);
}

void
rb_hs_forced_note(enum hs_forced_last last)
{
    rb_hs_lock();
    forced.last = last;
    rb_hs_unlock();
}
