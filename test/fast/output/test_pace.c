/*
 * interval=auto over the life of a program that allocates fast, then little, then fast again: are the sums of its samples
 * the sums of what was allocated, with the spread of their variance, and do they cost what was allowed? With the same seed
 * in each run.
 */
#include "tap.h"
#include "heap_sampler/store/epochs.h"
#include "heap_sampler/store/pace.h"

#include <math.h>
#include <string.h>

enum { HEAPS = 3,
       LIST = 400,              /* slots of a free list */
       LISTS_TO_A_MARK = 30,
       ROOM = 60000,
       TRIALS = 600 };
static const double slot_size[HEAPS] = {40, 160, 640}, SAMPLE_NS = 700;

struct sample {
    double size;
    bool garbage;
    float longest;
    hs_session_set sessions;
    uint32_t epoch;
};

static struct {
    struct hs_random random;
    struct hs_epochs epochs;
    struct hs_pace pace;
    struct sample samples[ROOM];
    uint32_t count, most;       /* of which own memory has room for so many */
    uint64_t interval, cpu_ns, taken;
    uint32_t shortened, lengthened;
    bool makes_garbage;         /* what is allocated now is garbage at the next mark */
    double allocated, freed;    /* bytes: the truth */
    double freed_sampled, freed_variance; /* of samples that were freed */
    struct {
        uint32_t left, until_sample;    /* slots; until_sample 0: none is sampled */
        double drawn_at;
    } list[HEAPS];
} sim = {.epochs.use = HS_MEM_TOTALS};

static void
enter(uint64_t interval)
{
    uint64_t intervals[HS_SESSIONS] = {interval};
    sim.shortened += interval < sim.interval;
    sim.lengthened += interval > sim.interval;
    sim.interval = interval;
    rb_hs_epoch_enter(&sim.epochs, intervals);
}

static void
thin(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sim.count; i++) {
        struct sample *sample = &sim.samples[i];
        if (rb_hs_lengthen(&sim.epochs, sample->longest, &sample->sessions, &sample->epoch)) sim.samples[kept++] = *sample;
        else sim.epochs.list[sample->epoch].records--;
    }
    sim.count = kept;
}

static struct hs_pace_time
now(void)
{
    return (struct hs_pace_time){.cpu_ns = sim.cpu_ns, .steady_ns = sim.cpu_ns};
}

/* Samples take a share of the memory that is allowed; the cap is at all of it. */
static void
look(bool may_get_shorter)
{
    bool capped = sim.count > sim.most;
    if (capped) {
        enter(sim.interval * 2);
        thin();
    }
    uint64_t least = rb_hs_pace_shortest(HS_PACE_BYTES / sim.most * sim.count);
    uint64_t next = rb_hs_pace_next(&sim.pace, sim.interval, now(), least, may_get_shorter);
    if (next != sim.interval) enter(next);
}

static void
cut(int heap)
{
    sim.list[heap].drawn_at = (double)sim.interval;
    sim.list[heap].until_sample = rb_hs_draw(&sim.random, slot_size[heap], (double)sim.interval, sim.list[heap].left);
}

/* All lists, for a shorter interval: a mark, or the job. */
static void
recut(void)
{
    look(true);
    for (int heap = 0; heap < HEAPS; heap++) cut(heap);
}

static void
take(int heap)
{
    struct sample sample = {.size = slot_size[heap], .garbage = sim.makes_garbage, .epoch = sim.epochs.current};
    sample.longest = rb_hs_longest_interval(&sim.random, sample.size, sim.list[heap].drawn_at);
    sample.sessions = rb_hs_sessions_within(sim.epochs.list[sample.epoch].interval, 1, sample.longest);
    if (!sample.sessions || sim.count == ROOM) return;
    sim.epochs.list[sample.epoch].records++;
    sim.samples[sim.count++] = sample;
    sim.pace.samples++;
    sim.taken++;
    if (sim.taken % 64 == 0) look(false);
    if (sim.pace.eager) recut();
}

/* As many slots as there are up to the next sample, or the end of the list. */
static void
allocate(int heap, double ns_each)
{
    if (!sim.list[heap].left) {
        sim.list[heap].left = LIST;
        cut(heap);
    }
    uint32_t next = sim.list[heap].until_sample, slots = next ? next : sim.list[heap].left;
    sim.allocated += slots * slot_size[heap];
    if (sim.makes_garbage) sim.freed += slots * slot_size[heap];
    sim.cpu_ns += (uint64_t)(slots * ns_each);
    sim.list[heap].left -= slots;
    if (next) take(heap);
    if (sim.list[heap].left) cut(heap);
}

static void
add(const struct sample *sample, double *space, double *variance)
{
    double weight = rb_hs_weight(sample->size, (double)sim.epochs.list[sample->epoch].interval[0]);
    *space += weight * sample->size;
    *variance += weight * (weight - 1) * sample->size * sample->size;
}

static void
bury(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sim.count; i++) {
        struct sample *sample = &sim.samples[i];
        if (!sample->garbage) {
            sim.samples[kept++] = *sample;
            continue;
        }
        add(sample, &sim.freed_sampled, &sim.freed_variance);
        sim.epochs.list[sample->epoch].records--;
    }
    sim.count = kept;
}

static void
mark(void)
{
    bury();
    recut();
    sim.makes_garbage = !sim.makes_garbage;
}

static void
phase(double ns, double ns_each)
{
    uint64_t until_ns = sim.cpu_ns + (uint64_t)ns;
    uint32_t steps = 0;
    while (sim.cpu_ns < until_ns) {
        for (int heap = 0; heap < HEAPS; heap++) allocate(heap, ns_each);
        if (++steps % LISTS_TO_A_MARK == 0) mark();
    }
}

static void
begin(uint32_t most)
{
    for (uint32_t i = 0; i < sim.count; i++) sim.epochs.list[sim.samples[i].epoch].records--;
    sim.count = sim.shortened = sim.lengthened = 0;
    sim.taken = sim.cpu_ns = 0;
    sim.allocated = sim.freed = sim.freed_sampled = sim.freed_variance = 0;
    sim.makes_garbage = false;
    sim.most = most;
    memset(sim.list, 0, sizeof(sim.list));
    rb_hs_pace_begin(&sim.pace, SAMPLE_NS, now());
    sim.interval = HS_PACE_LONGEST;
    enter(HS_PACE_LONGEST);
}

/* Four times fast (4 million objects a second of CPU time), then slowly (50 thousand). */
static void
live(uint32_t most)
{
    begin(most);
    for (int i = 0; i < 4; i++) {
        phase(0.1e9, 250);
        phase(1.5e9, 20000);
    }
    while (!sim.makes_garbage) mark();
    mark();                     /* nothing is left that is to be freed */
}

/* One figure over many lives, against the truth. */
struct figure {
    const char *name;
    double mean, squares, variances;
    int covered;
};

static void
compare(struct figure *figure, double found, double variance, double truth)
{
    double off = found - truth;
    figure->mean += off / TRIALS;
    figure->squares += off * off / TRIALS;
    figure->variances += variance / TRIALS;
    figure->covered += fabs(off) < 1.96 * sqrt(variance);
}

static void
judge(const struct figure *figure, const char *how)
{
    double z = figure->mean / sqrt(figure->squares / TRIALS), ratio = sqrt(figure->squares / figure->variances);
    double covered = 100.0 * figure->covered / TRIALS;
    ok(fabs(z) < 4, "auto, %s: no bias of %s (z %.2f, bound 4)", how, figure->name, z);
    ok(fabs(ratio - 1) < 0.15, "auto, %s: the spread of %s is what the variance says (ratio %.3f, within 0.15)", how, figure->name, ratio);
    ok(covered > 92, "auto, %s: 95%% intervals hold %s in %.1f%% (92%% at least)", how, figure->name, covered);
}

static void
test_lives(const char *how, uint32_t most, uint32_t moves)
{
    struct figure allocated = {.name = "allocations"}, freed = {.name = "frees"}, held = {.name = "what is in use"};
    double dearest = 0;
    uint32_t moved = 0;
    for (int i = 0; i < TRIALS; i++) {
        double space = 0, variance = 0;
        live(most);
        for (uint32_t j = 0; j < sim.count; j++) add(&sim.samples[j], &space, &variance);
        compare(&held, space, variance, sim.allocated - sim.freed);
        compare(&freed, sim.freed_sampled, sim.freed_variance, sim.freed);
        compare(&allocated, space + sim.freed_sampled, variance + sim.freed_variance, sim.allocated);
        dearest = fmax(dearest, (double)sim.taken * SAMPLE_NS / (double)sim.cpu_ns);
        moved += sim.lengthened >= moves && sim.shortened >= moves;
    }
    ok(moved == TRIALS, "auto, %s: the interval gets longer and shorter %u times at least in each of %d lives (%u)", how, moves, TRIALS, moved);
    judge(&allocated, how);
    judge(&freed, how);
    judge(&held, how);
    ok(dearest < HS_PACE_BUDGET, "auto, %s: samples take %.3f%% of the CPU time at most (0.1%% are allowed)", how, dearest * 100);
}

/* How much CPU time a program at so many bytes a second, from this interval, takes to come to another one at least so far. */
static double
seconds_to(uint64_t from, uint64_t to, double bytes_a_second, double *spent_ns)
{
    struct hs_pace pace;
    struct hs_pace_time at = {0};
    double owed = 0;
    *spent_ns = 0;
    rb_hs_pace_begin(&pace, SAMPLE_NS, at);
    pace.saved_ns = from < to ? 1e9 * HS_PACE_BUDGET : 0;
    for (uint64_t interval = from; at.cpu_ns < 10000000000; at.cpu_ns += 1000000) {
        at.steady_ns = at.cpu_ns;
        for (owed += bytes_a_second / 1e3 / (double)interval; owed >= 1; owed--) {
            pace.samples++;
            *spent_ns += SAMPLE_NS;
        }
        interval = rb_hs_pace_next(&pace, interval, at, HS_PACE_SHORTEST, true);
        if (from < to ? interval >= to : interval <= to) break;
    }
    return (double)at.cpu_ns / 1e9;
}

static void
test_speed(void)
{
    double spent, seconds = seconds_to(HS_PACE_LONGEST, HS_PACE_SHORTEST, 1e6, &spent);
    ok(seconds <= 0.2, "auto: a program that hardly allocates is at 16k after %.3f s of CPU time (0.2 at most)", seconds);
    seconds = seconds_to(HS_PACE_SHORTEST, HS_PACE_LONGEST, 1e9, &spent);
    ok(spent < 2e6, "auto: one that allocates a gigabyte a second is back at 512k after %.3f s; samples took %.2f ms, of 1 that was saved (2 at most)", seconds, spent / 1e6);
}

/* A process that sleeps earns a tenth of the time that passes. */
static void
test_idle(void)
{
    struct hs_pace pace;
    rb_hs_pace_begin(&pace, SAMPLE_NS, (struct hs_pace_time){0});
    uint64_t interval = HS_PACE_LONGEST;
    for (uint64_t ms = 0; ms < 2000; ms += 100) {
        interval = rb_hs_pace_next(&pace, interval, (struct hs_pace_time){.cpu_ns = 0, .steady_ns = ms * 1000000}, HS_PACE_SHORTEST, true);
    }
    ok(interval == HS_PACE_SHORTEST, "auto: a process that sleeps is at 16k after two seconds (%llu)", (unsigned long long)interval);
}

static void
test_bounds(void)
{
    struct hs_pace pace;
    struct hs_pace_time at = {.cpu_ns = 5000000000};
    rb_hs_pace_begin(&pace, SAMPLE_NS, (struct hs_pace_time){0});
    ok(rb_hs_pace_next(&pace, HS_PACE_SHORTEST, at, HS_PACE_SHORTEST, true) == HS_PACE_SHORTEST, "auto: without samples the interval stays the shortest");
    pace.samples = 1000000;
    at.cpu_ns += 100000000;
    ok(rb_hs_pace_next(&pace, HS_PACE_SHORTEST, at, HS_PACE_SHORTEST, true) == HS_PACE_LONGEST / 2, "auto: 16 times as long at once");
    pace.samples = 10000000;
    at.cpu_ns += 100000000;
    ok(rb_hs_pace_next(&pace, HS_PACE_LONGEST, at, HS_PACE_SHORTEST, true) == HS_PACE_LONGEST, "auto: it ends at the longest");
    pace.samples = 10000000;
    ok(rb_hs_pace_next(&pace, HS_INTERVAL_MAX, at, HS_PACE_SHORTEST, true) == HS_INTERVAL_MAX, "auto: what the cap made longer stays");
    rb_hs_pace_begin(&pace, SAMPLE_NS, at);
    rb_hs_pace_cost(&pace, 1e9);
    ok(pace.sample_ns < SAMPLE_NS * 1.6, "auto: a sample that was interrupted counts as ten");
    at.cpu_ns = 0;
    rb_hs_pace_next(&pace, HS_PACE_LONGEST, at, HS_PACE_SHORTEST, true);
    ok(pace.window_ns == 0, "auto: a child's CPU time begins anew");
    bool steps = rb_hs_pace_shortest(0) == HS_PACE_SHORTEST && rb_hs_pace_shortest(HS_PACE_BYTES / 2) == HS_PACE_SHORTEST &&
        rb_hs_pace_shortest(HS_PACE_BYTES / 4 * 3) == 64 << 10 && rb_hs_pace_shortest(HS_PACE_BYTES) == HS_PACE_LONGEST &&
        rb_hs_pace_shortest(HS_PACE_BYTES * 9) == HS_PACE_LONGEST;
    ok(steps, "auto: the more samples hold the longer is the shortest interval, up to 512k");
}

void
test_pace(void)
{
    rb_hs_random_seed(&sim.random, 7);
    test_bounds();
    test_speed();
    test_idle();
    test_lives("with room", ROOM - 1, 4);
    test_lives("with little memory", 1500, 4);
}
