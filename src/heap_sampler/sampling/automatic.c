/* See sampling/sessions.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/sampling/sessions.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/pace.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/sampling/malloc_hooks.h"

enum {
    TIMED_EACH = 4,             /* samples of slots: a clock takes a hundredth of one */
    SAMPLES_EACH = 64,          /* looked at; of malloc more where much is saved */
    LISTS_EACH = 32,            /* looked at: some 2 MB of objects */
    GUESSED_SAMPLE_NS = 2500,   /* until some were timed */
    MALLOC_SAMPLE_NS = 1500,    /* allocation and free, unwinding, a page of jemalloc's (benchmark/run sample_cost: 0.9 µs and the page) */
    JOB_AFTER_NS = 1000000000   /* since the last: each interrupts compiled code, and may enlarge a heap (doc/benchmarks.md) */
};

/* The main session of a store. [vm] */
struct automatic {
    bool on;                    /* atomic flag */
    struct hs_pace pace;
};
static struct automatic of_slots, of_malloc;
static uint32_t turn, lists;
static uint64_t job_ns, mark_ns;        /* when they were last */
static uint64_t paced;          /* samples of malloc that its pace has counted */
static uint64_t due;            /* samples of malloc at which it is to be asked; atomic figure */
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;

static bool
on_p(const struct automatic *automatic)
{
    return __atomic_load_n(&automatic->on, __ATOMIC_RELAXED);
}

static struct hs_pace_time
now(void)
{
    return (struct hs_pace_time){.cpu_ns = rb_hs_cpu_ns(), .steady_ns = rb_hs_steady_ns()};
}

static void
begin(struct automatic *automatic, bool on, double sample_ns, uint64_t thinnings)
{
    __atomic_store_n(&automatic->on, on, __ATOMIC_RELAXED);
    rb_hs_pace_begin(&automatic->pace, sample_ns, now());
    automatic->pace.thinnings = thinnings;
}

/* What samples hold, of slots and of malloc, bytes: tables, stacks and names, and the pages that jemalloc gives to small
 * blocks that it samples. */
static uint64_t
next_interval(struct automatic *automatic, const struct hs_session *session, bool may_get_shorter)
{
    struct hs_malloc_counts counts;
    rb_hs_malloc_counts(&counts);
    size_t bytes = rb_hs_memory_total() - rb_hs_memory_bytes(HS_MEM_SNAPSHOTS) + counts.pages_bytes;
    uint64_t least = rb_hs_pace_least(&automatic->pace, bytes, session->interval, session->thinnings);
    return rb_hs_pace_next(&automatic->pace, session->interval, now(), least, may_get_shorter);
}

/* -- malloc ------------------------------------------------------------------------- */

static void
set_due(uint64_t samples)
{
    const struct hs_pace *pace = &of_malloc.pace;
    uint64_t payable = pace->saved_ns > 0 ? (uint64_t)(pace->saved_ns / pace->sample_ns) : 0;
    __atomic_store_n(&due, samples + (payable > SAMPLES_EACH ? payable : SAMPLES_EACH), __ATOMIC_RELAXED);
}

void
rb_hs_malloc_automatic(bool on)
{
    HS_CONTRACT(gvl);
    struct hs_malloc_counts counts;
    rb_hs_malloc_counts(&counts);
    begin(&of_malloc, on, MALLOC_SAMPLE_NS, rb_hs_malloc_session(HS_MAIN).thinnings);
    paced = counts.samples;
    set_due(paced);
}

bool
rb_hs_malloc_automatic_p(void)
{
    return on_p(&of_malloc);
}

bool
rb_hs_malloc_automatic_due(uint64_t samples)
{
    return on_p(&of_malloc) && samples >= __atomic_load_n(&due, __ATOMIC_RELAXED);
}

/* The share of the CPU time that malloc does not take of its budget. */
static double
left_by_malloc(void)
{
    if (!rb_hs_malloc_session(HS_MAIN).on) return HS_PACE_BUDGET;
    return of_malloc.on && of_malloc.pace.share < HS_PACE_BUDGET ? HS_PACE_BUDGET - of_malloc.pace.share : 0;
}

void
rb_hs_malloc_automatic_work(uint64_t ns)
{
    rb_hs_pace_work(&of_malloc.pace, (double)ns);
}

void
rb_hs_malloc_follow_pace(void)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    struct hs_session session = rb_hs_malloc_session(HS_MAIN);
    struct hs_malloc_counts counts;
    if (!of_malloc.on || !session.on) return;
    rb_hs_malloc_counts(&counts);
    /* Where another session has a shorter interval, some samples are not the main session's. */
    double share = counts.drawn_interval < session.interval ? (double)counts.drawn_interval / (double)session.interval : 1;
    of_malloc.pace.samples += (uint64_t)((double)(counts.samples - paced) * share);
    paced = counts.samples;
    uint64_t next = next_interval(&of_malloc, &session, true);
    set_due(paced);
    rb_hs_malloc_retune(HS_MAIN, next);
}

/* -- slots --------------------------------------------------------------------------- */

static bool
wanted_p(void)
{
    return of_slots.on && rb_hs_slot_store.session[HS_MAIN].on;
}

/* Did it get shorter? */
static bool
look(bool may_get_shorter)
{
    const struct hs_session *session = &rb_hs_slot_store.session[HS_MAIN];
    uint64_t was = session->interval;
    of_slots.pace.budget = HS_PACE_BUDGET + left_by_malloc();
    uint64_t next = next_interval(&of_slots, session, may_get_shorter);
    return next != was && rb_hs_store_retune(&rb_hs_slot_store, HS_MAIN, next) && next < was;
}

static void
look_job(void *unused)
{
    RB_VM_LOCK_ENTER();
    rb_hs_malloc_follow_pace();
    job_ns = rb_hs_steady_ns();
    if (of_slots.pace.eager) {
        rb_vm_barrier();
        rb_hs_lock();
        bool shorter = wanted_p() && look(true);
        rb_hs_unlock();
        if (shorter) rb_heap_sampler_gc_recut();
        rb_hs_check(HS_CHECK_ANY);
    }
    RB_VM_LOCK_LEAVE();
}

static void
ask_for_job(void)
{
    uint64_t before = rb_hs_steady_ns() - JOB_AFTER_NS;
    bool for_slots = of_slots.on && of_slots.pace.eager && mark_ns < before;    /* else the next mark does it */
    bool wanted = job_ns < before && (for_slots || rb_hs_malloc_automatic_p());
    if (wanted && job != POSTPONED_JOB_HANDLE_INVALID) rb_postponed_job_trigger(job);
}

void
rb_hs_automatic(bool on)
{
    begin(&of_slots, on, GUESSED_SAMPLE_NS, rb_hs_slot_store.session[HS_MAIN].thinnings);
    if (job == POSTPONED_JOB_HANDLE_INVALID) job = rb_postponed_job_preregister(0, look_job, NULL);
}

bool
rb_hs_automatic_p(void)
{
    return on_p(&of_slots);
}

void
rb_hs_automatic_list(void)
{
    HS_CONTRACT(vm);
    if (++lists % LISTS_EACH || rb_during_gc() || !rb_hs_slot_store.session[HS_MAIN].on) return;
    if (of_slots.on) {
        rb_hs_lock();
        look(false);
        rb_hs_unlock();
    }
    ask_for_job();
}

uint64_t
rb_hs_automatic_sample_begins(void)
{
    return of_slots.on && ++turn % TIMED_EACH == 0 ? rb_hs_steady_ns() : 0;
}

void
rb_hs_automatic_sample_ends(uint64_t began, hs_session_set sessions)
{
    HS_CONTRACT(write);
    if (!of_slots.on || !(sessions & 1u << HS_MAIN)) return;
    if (began) rb_hs_pace_cost(&of_slots.pace, (double)(rb_hs_steady_ns() - began));
    if (++of_slots.pace.samples % SAMPLES_EACH) return;
    look(false);
    ask_for_job();
}

void
rb_hs_automatic_at_mark(uint64_t began)
{
    HS_CONTRACT(write);
    if (!wanted_p()) return;
    mark_ns = rb_hs_steady_ns();
    rb_hs_pace_work(&of_slots.pace, (double)(rb_hs_thread_cpu_ns() - began));
    look(true);
}
