/* See malloc/automatic.h. */
#include "heap_sampler/malloc/automatic.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/pace.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/sites/sampler.h"

enum {
    SAMPLE_NS = 1500,           /* birth and death, unwinding, a page of jemalloc's (benchmark/run sample_cost: 0.9 µs and the page) */
    LOOKED_AT_EACH = 64         /* samples, or more where much is saved */
};

static bool automatic;          /* [vm]; read by any thread */
static struct hs_pace pace;     /* [vm] */
static uint64_t paced;          /* samples that it knows of; [vm] */
static bool paced_known;
static uint64_t due;            /* samples at which it is to be asked; atomic */

static struct hs_pace_time
now(void)
{
    return (struct hs_pace_time){.cpu_ns = rb_hs_cpu_ns(), .steady_ns = rb_hs_steady_ns()};
}

static void
set_due(uint64_t samples)
{
    uint64_t payable = pace.saved_ns > 0 ? (uint64_t)(pace.saved_ns / pace.sample_ns) : 0;
    __atomic_store_n(&due, samples + (payable > LOOKED_AT_EACH ? payable : LOOKED_AT_EACH), __ATOMIC_RELAXED);
}

void
rb_hs_malloc_automatic(bool on)
{
    HS_CONTRACT(gvl);
    automatic = on;
    paced_known = false;
    rb_hs_pace_begin(&pace, SAMPLE_NS, now());
    pace.thinnings = rb_hs_malloc_session(HS_MAIN).thinnings;
    set_due(0);
}

bool
rb_hs_malloc_automatic_p(void)
{
    return automatic;
}

bool
rb_hs_malloc_automatic_due(uint64_t samples)
{
    return automatic && samples >= __atomic_load_n(&due, __ATOMIC_RELAXED);
}

double
rb_hs_malloc_automatic_left(void)
{
    if (!rb_hs_malloc_session(HS_MAIN).on) return HS_PACE_BUDGET;
    return automatic && pace.share < HS_PACE_BUDGET ? HS_PACE_BUDGET - pace.share : 0;
}

void
rb_hs_malloc_automatic_work(uint64_t ns)
{
    rb_hs_pace_work(&pace, (double)ns);
}

size_t
rb_hs_automatic_bytes(const struct hs_malloc_counts *counts)
{
    return rb_hs_memory_total() - rb_hs_memory_bytes(HS_MEM_SNAPSHOTS) + counts->pages_bytes;
}

/* Samples of a finer session beside it are not the main one's. */
static void
count_samples(const struct hs_malloc_session *session, const struct hs_malloc_counts *counts)
{
    double share = counts->drawn_interval < session->interval ? (double)counts->drawn_interval / (double)session->interval : 1;
    if (paced_known) pace.samples += (uint64_t)((double)(counts->samples - paced) * share);
    paced = counts->samples;
    paced_known = true;
}

uint64_t
rb_hs_malloc_automatic_next(const struct hs_malloc_counts *counts)
{
    HS_CONTRACT(vm);
    HS_CONTRACT(free);
    struct hs_malloc_session session = rb_hs_malloc_session(HS_MAIN);
    if (!automatic || !session.on) return 0;
    count_samples(&session, counts);
    uint64_t least = rb_hs_pace_least(&pace, rb_hs_automatic_bytes(counts), session.interval, session.thinnings);
    uint64_t next = rb_hs_pace_next(&pace, session.interval, now(), least, true);
    set_due(paced);
    return next;
}
