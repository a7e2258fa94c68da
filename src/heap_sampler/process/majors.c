/* See process/majors.h. */
#include "heap_sampler/process/majors.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/mri.h"
#include "heap_sampler/process/safe_point.h"
#include "heap_sampler/settings/options.h"

#include <time.h>

enum {
    MARK_MS = 2000,             /* to wait for the end of marking, or half of every= */
    START_MS = 2000,            /* to wait for the first safe point, or a quarter of every= */
    SLICE_MS = 50,              /* of waiting, after which a stop is noticed */
    NAP_MS = 5,                 /* between two steps */
    STEPS_MOST = 200,           /* of one marking: a second of naps */
    STEP_SLOTS = 20000          /* of a small heap: about a millisecond */
};
static const uint64_t ms = 1000000;

/* Both of the thread of periodic profiles, and of a child before it has one. */
static uint64_t ended_before;   /* majors, at the last periodic profile */
static bool first_of_child;

void
rb_hs_majors_begin(void)
{
    rb_hs_asked_limit(rb_hs_options.every ? rb_hs_options.gc_ppm : 0);
}

void
rb_hs_majors_after_fork(void)
{
    rb_hs_asked_forget();
    first_of_child = true;
}

/* What is asked for at a safe point. */
struct work {
    bool (*stopping)(void);
    uint32_t step_slots;
    bool begun;
};

static void
begin_major(void *data)
{
    struct work *work = data;
    if (!work->stopping()) work->begun = rb_hs_asked_begin(work->step_slots);
}

static void
step_major(void *data)
{
    struct work *work = data;
    if (!work->stopping()) rb_heap_sampler_gc_step_major(work->step_slots);
}

static uint32_t
step_slots(void)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t slots = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) slots += counts.heap[i].live_slots;
    return slots / STEPS_MOST > STEP_SLOTS ? (uint32_t)(slots / STEPS_MOST) : STEP_SLOTS;
}

/* So long, or so much of every=. */
static uint64_t
deadline(uint64_t most_ms, uint64_t part_of_every)
{
    uint64_t part_ms = (uint64_t)rb_hs_options.every * 1000 / part_of_every;
    return rb_hs_steady_ns() + (part_ms < most_ms ? part_ms : most_ms) * ms;
}

static bool
begin_until(struct work *work, uint64_t until)
{
    while (!work->stopping() && rb_hs_steady_ns() < until) {
        if (rb_hs_at_safe_point(begin_major, work, SLICE_MS)) return true;
    }
    return false;
}

static bool
step_until(struct work *work, uint64_t until)
{
    const struct timespec nap = {0, NAP_MS * 1000000};
    while (rb_hs_majors_ended() == ended_before) {
        if (work->stopping() || rb_hs_steady_ns() >= until) return false;
        nanosleep(&nap, NULL);
        rb_hs_at_safe_point(step_major, work, SLICE_MS);
    }
    return true;
}

static enum hs_asked_last
ask(bool (*stopping)(void))
{
    struct work work = {.stopping = stopping, .step_slots = step_slots()};
    if (rb_hs_majors_ended() != ended_before) return HS_ASKED_NOT_NEEDED;
    if (!rb_hs_asked_affordable_p()) return HS_ASKED_OVER_BUDGET;
    if (!begin_until(&work, deadline(START_MS, 4))) return HS_ASKED_NO_SAFE_POINT;
    if (!work.begun) return HS_ASKED_REFUSED;
    return step_until(&work, deadline(MARK_MS, 2)) ? HS_ASKED_ENDED : HS_ASKED_UNFINISHED;
}

void
rb_hs_major_before_profile(bool (*stopping)(void))
{
    if (!rb_hs_options.gc_ppm) return;
    rb_hs_asked_note(first_of_child ? HS_ASKED_NONE : ask(stopping));
    first_of_child = false;
    ended_before = rb_hs_majors_ended();
}
