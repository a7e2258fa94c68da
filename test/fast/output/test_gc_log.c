/*
 * The record of all GCs, over lives of many kinds: it is bounded, has the newest one by one, and loses none of the others.
 */
#include "tap.h"
#include "heap_sampler/sampling/gc_log.h"
#include "heap_sampler/store/draw.h"

#include <math.h>
#include <string.h>

#define MS UINT64_C(1000000)

static struct hs_random randomness;

static uint64_t
exponential(double mean)
{
    return (uint64_t)(-log(rb_hs_random_unit(&randomness)) * mean);
}

static uint64_t
steady(void)
{
    return exponential(100.0 * MS);
}

/* Some are a millisecond apart, some an hour. */
static uint64_t
uneven(void)
{
    return exponential(rb_hs_random_unit(&randomness) <= 0.02 ? 3600000.0 * MS : 1.0 * MS);
}

static uint64_t
at_once(void)
{
    return 0;
}

/* What all GCs so far add up to, and the largest. */
struct truth {
    uint64_t gcs, majors, mark_ns, sweep_ns, pause_ns, allocated, promoted;
};

static bool
right_p(const struct hs_gc_log *log, const struct truth *truth, uint64_t now)
{
    struct truth sum = {0};
    uint32_t gc = 0;
    uint64_t ns = 0;
    bool right = log->count <= HS_GC_LOG;
    for (uint32_t i = 0; i < log->count; i++) {
        const struct hs_gc_entry *entry = &log->list[i];
        right = right && entry->gc == gc + entry->gcs && entry->ns >= ns && entry->old_objects == entry->gc && entry->pages == entry->gc;
        right = right && (log->count - i > HS_GC_LOG_NEWEST || entry->gcs == 1);
        gc = entry->gc;
        ns = entry->ns;
        sum.gcs += entry->gcs;
        sum.majors += entry->majors;
        sum.mark_ns += entry->mark_ns;
        sum.sweep_ns += entry->sweep_ns;
        sum.allocated += entry->allocated;
        sum.promoted += entry->promoted;
        if (entry->pause_ns > sum.pause_ns) sum.pause_ns = entry->pause_ns;
        /* The slowest of the folded ones gives the reason. */
        right = right && entry->reason == entry->took_ns % HS_GC_REASONS;
    }
    return right && ns == now && sum.gcs == truth->gcs && sum.majors == truth->majors && sum.mark_ns == truth->mark_ns &&
        sum.sweep_ns == truth->sweep_ns && sum.allocated == truth->allocated && sum.promoted == truth->promoted &&
        sum.pause_ns == truth->pause_ns;
}

static void
test_life(const char *name, uint64_t (*gap)(void))
{
    enum { GCS = 20000 };
    static struct hs_gc_log log;
    struct truth truth = {0};
    uint64_t now = 5 * MS, gcs = 0, longest = 0;
    uint32_t wrong = 0, joined = 0;
    log = (struct hs_gc_log){0};
    for (uint32_t i = 0; i < GCS; i++) {
        uint64_t mark = exponential(2.0 * MS), sweep = exponential(1.0 * MS);
        struct hs_gc_entry entry = {.ns = now += gap(), .gc = i + 1, .gcs = 1, .majors = i % 7 == 0, .mark_ns = mark, .sweep_ns = sweep, .pause_ns = exponential(5.0 * MS), .allocated = i, .promoted = i % 5, .pages = i + 1, .free_slots = 3, .old_objects = i + 1, .reason = (uint32_t)((mark + sweep) % HS_GC_REASONS)};
        rb_hs_gc_log_add(&log, &entry);
        rb_hs_gc_log_finish(&log);
        truth.gcs++;
        truth.majors += entry.majors;
        truth.mark_ns += mark;
        truth.sweep_ns += sweep;
        truth.allocated += entry.allocated;
        truth.promoted += entry.promoted;
        if (entry.pause_ns > truth.pause_ns) truth.pause_ns = entry.pause_ns;
        wrong += !right_p(&log, &truth, now);
        for (uint32_t k = 0; i + 1 == GCS && k < log.count; k++) joined += log.list[k].gcs > 1;
    }
    ok(!wrong, "record of GCs: %s: %u of %d records are wrong", name, wrong, GCS);
    uint64_t ns = 0;
    for (int i = 0; i < HS_GC_REASONS; i++) {
        gcs += log.causes[i].gcs;
        ns += log.causes[i].ns;
        if (log.causes[i].pause_ns > longest) longest = log.causes[i].pause_ns;
    }
    ok(gcs == GCS && ns == truth.mark_ns + truth.sweep_ns && longest == truth.pause_ns && joined > 0,
       "record of GCs: %s: the reasons have all GCs, %u entries several", name, joined);
    /* In a forked child the GC that went on in the parent counts for no reason, and the next does. */
    memset(log.causes, 0, sizeof(log.causes));
    log.inherited = 1;
    rb_hs_gc_log_finish(&log);
    struct hs_gc_entry entry = {.ns = now, .gc = GCS + 1, .gcs = 1, .reason = 9, .mark_ns = 7};
    rb_hs_gc_log_add(&log, &entry);
    rb_hs_gc_log_finish(&log);
    for (int i = gcs = 0; i < HS_GC_REASONS; i++) gcs += log.causes[i].gcs;
    ok(gcs == 1 && log.causes[9].ns == 7, "record of GCs: %s: a forked child counts its own", name);
}

void
test_gc_log(void)
{
    rb_hs_random_seed(&randomness, 12);
    test_life("steady", steady);
    test_life("bursts and hours without one", uneven);
    test_life("all at once", at_once);
}
