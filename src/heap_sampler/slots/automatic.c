/* See slots/automatic.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/slots/automatic.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/pace.h"
#include "heap_sampler/malloc/automatic.h"
#include "heap_sampler/malloc/hooks.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/check.h"
#include "heap_sampler/slots/intervals.h"

enum {
    TIMED_EACH = 4,             /* samples: a clock takes a hundredth of one */
    SAMPLES_EACH = 64,          /* looked at */
    LISTS_EACH = 32,            /* looked at: some 2 MB of objects */
    GUESSED_SAMPLE_NS = 2500,   /* until some were timed */
    JOB_AFTER_NS = 1000000000   /* since the last: each interrupts compiled code, and may enlarge a heap (doc/benchmarks.md) */
};

static struct hs_pace pace;
static bool automatic;
static uint32_t turn, lists;
static uint64_t job_ns, mark_ns;        /* when they were last */
static rb_postponed_job_handle_t job = POSTPONED_JOB_HANDLE_INVALID;

static struct hs_session *
main_session(void)
{
    return &rb_hs_sampler.session[HS_MAIN];
}

static struct hs_pace_time
now(void)
{
    return (struct hs_pace_time){.cpu_ns = rb_hs_cpu_ns(), .steady_ns = rb_hs_steady_ns()};
}

static uint64_t
least_interval(const struct hs_session *session)
{
    struct hs_malloc_counts counts;
    rb_hs_malloc_counts(&counts);
    return rb_hs_pace_least(&pace, rb_hs_automatic_bytes(&counts), session->interval, session->thinnings);
}

/* Did it get shorter? */
static bool
look(bool may_get_shorter)
{
    struct hs_session *session = main_session();
    uint64_t was = session->interval;
    pace.budget = HS_PACE_BUDGET + rb_hs_malloc_automatic_left();
    uint64_t next = rb_hs_pace_next(&pace, was, now(), least_interval(session), may_get_shorter);
    return next != was && rb_hs_change_interval(session, next) && next < was;
}

static bool
cut_anew(void)
{
    rb_vm_barrier();
    rb_hs_lock();
    bool shorter = automatic && main_session()->on && look(true);
    rb_hs_unlock();
    if (shorter) rb_heap_sampler_gc_recut();
    return shorter;
}

static void
look_job(void *unused)
{
    RB_VM_LOCK_ENTER();
    rb_hs_malloc_follow_pace();
    job_ns = rb_hs_steady_ns();
    if (pace.eager && cut_anew()) rb_hs_check(HS_CHECK_ANY);
    RB_VM_LOCK_LEAVE();
}

static void
ask_for_job(void)
{
    uint64_t before = rb_hs_steady_ns() - JOB_AFTER_NS;
    bool for_slots = automatic && pace.eager && mark_ns < before;       /* else the next mark does it */
    bool wanted = job_ns < before && (for_slots || rb_hs_malloc_automatic_p());
    if (wanted && job != POSTPONED_JOB_HANDLE_INVALID) rb_postponed_job_trigger(job);
}

void
rb_hs_automatic(bool on)
{
    __atomic_store_n(&automatic, on, __ATOMIC_RELAXED);
    rb_hs_pace_begin(&pace, GUESSED_SAMPLE_NS, now());
    pace.thinnings = main_session()->thinnings;
    if (job == POSTPONED_JOB_HANDLE_INVALID) job = rb_postponed_job_preregister(0, look_job, NULL);
}

bool
rb_hs_automatic_p(void)
{
    return __atomic_load_n(&automatic, __ATOMIC_RELAXED);
}

void
rb_hs_automatic_list(void)
{
    HS_CONTRACT(vm);
    if (++lists % LISTS_EACH || rb_during_gc() || !main_session()->on) return;
    if (automatic) {
        rb_hs_lock();
        look(false);
        rb_hs_unlock();
    }
    ask_for_job();
}

uint64_t
rb_hs_automatic_sample_begins(void)
{
    return automatic && ++turn % TIMED_EACH == 0 ? rb_hs_steady_ns() : 0;
}

void
rb_hs_automatic_sample_ends(uint64_t began, hs_session_set sessions)
{
    HS_CONTRACT(write);
    if (!automatic || !(sessions & 1u << HS_MAIN)) return;
    if (began) rb_hs_pace_cost(&pace, (double)(rb_hs_steady_ns() - began));
    if (++pace.samples % SAMPLES_EACH) return;
    look(false);
    ask_for_job();
}

void
rb_hs_automatic_at_mark(uint64_t began)
{
    HS_CONTRACT(write);
    if (!automatic || !main_session()->on) return;
    mark_ns = rb_hs_steady_ns();
    rb_hs_pace_work(&pace, (double)(mark_ns - began));
    look(true);
}
