/*
 * interval=auto over the life of a program that allocates fast, then little, then fast again: are the sums of its samples
 * those of what was born, with the spread that their variance says, and do they cost what was allowed? With the same seed
 * in each run.
 */
#include "tap.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/estimate/pace.h"

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
    float longest;
    uint8_t sessions;
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
    double born;
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

static void
look(bool at_mark)
{
    bool full = sim.count > sim.most;
    uint64_t next = rb_hs_pace_next(&sim.pace, sim.interval, sim.cpu_ns, full, sim.count < sim.most / 2);
    if (next > sim.interval || (at_mark && next < sim.interval)) enter(next);
    if (full) thin();
}

static void
cut(int heap)
{
    sim.list[heap].drawn_at = (double)sim.interval;
    sim.list[heap].until_sample = rb_hs_draw(&sim.random, slot_size[heap], (double)sim.interval, sim.list[heap].left);
}

static void
take(int heap)
{
    struct sample sample = {.size = slot_size[heap], .epoch = sim.epochs.current};
    sample.longest = rb_hs_longest_interval(&sim.random, sample.size, sim.list[heap].drawn_at);
    sample.sessions = rb_hs_keepers(sim.epochs.list[sample.epoch].interval, 1, sample.longest);
    if (!sample.sessions || sim.count == ROOM) return;
    sim.epochs.list[sample.epoch].records++;
    sim.samples[sim.count++] = sample;
    sim.pace.samples++;
    sim.taken++;
    if (sim.taken % 64 == 0) look(false);
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
    sim.born += slots * slot_size[heap];
    sim.cpu_ns += (uint64_t)(slots * ns_each);
    sim.list[heap].left -= slots;
    if (next) take(heap);
    if (sim.list[heap].left) cut(heap);
}

/* After a mark the lists are installed again, and cut anew. */
static void
mark(void)
{
    look(true);
    for (int heap = 0; heap < HEAPS; heap++) cut(heap);
}

static void
phase(uint64_t until_ns, double ns_each)
{
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
    sim.born = 0;
    sim.most = most;
    memset(sim.list, 0, sizeof(sim.list));
    sim.pace = (struct hs_pace){.budget = HS_PACE_BUDGET, .sample_ns = SAMPLE_NS};
    sim.interval = HS_PACE_FIRST;
    enter(HS_PACE_FIRST);
}

/* The CPU time of a second is 1e9 ns; fast: 20 million objects in it. */
static void
live(uint32_t most)
{
    begin(most);
    phase(200000000, 50);
    phase(8200000000, 20000);
    phase(8400000000, 50);
    phase(11000000000, 20000);
}

static void
test_lives(const char *name, uint32_t most, uint32_t shortened)
{
    double mean = 0, squares = 0, variances = 0, covered = 0, dearest = 0;
    uint32_t moved = 0;
    for (int i = 0; i < TRIALS; i++) {
        double space = 0, variance = 0;
        live(most);
        for (uint32_t j = 0; j < sim.count; j++) {
            const struct sample *sample = &sim.samples[j];
            double weight = rb_hs_weight(sample->size, (double)sim.epochs.list[sample->epoch].interval[0]);
            space += weight * sample->size;
            variance += weight * (weight - 1) * sample->size * sample->size;
        }
        double off = space - sim.born, cost = (double)sim.taken * SAMPLE_NS / (double)sim.cpu_ns;
        mean += off / TRIALS;
        squares += off * off / TRIALS;
        variances += variance / TRIALS;
        covered += fabs(off) < 1.96 * sqrt(variance);
        dearest = fmax(dearest, cost);
        moved += sim.lengthened >= 1 && sim.shortened >= shortened;
    }
    double z = mean / sqrt(squares / TRIALS), ratio = sqrt(squares / variances);
    ok(moved == TRIALS, "auto, %s: the interval gets longer, and shorter %u times at least, in each of %d lives (%u)", name, shortened, TRIALS, moved);
    ok(fabs(z) < 4, "auto, %s: no bias (z %.2f, bound 4)", name, z);
    ok(fabs(ratio - 1) < 0.15, "auto, %s: the spread is what the variance says (ratio %.3f, within 0.15)", name, ratio);
    ok(covered / TRIALS > 0.92, "auto, %s: 95%% intervals hold the truth in %.1f%% (92%% at least)", name, covered / TRIALS * 100);
    ok(dearest < HS_PACE_BUDGET, "auto, %s: samples take %.3f%% of the CPU time at most (0.1%% are allowed)", name, dearest * 100);
}

static void
test_bounds(void)
{
    struct hs_pace pace = {.budget = HS_PACE_BUDGET, .sample_ns = SAMPLE_NS};
    uint64_t next = rb_hs_pace_next(&pace, HS_PACE_SHORTEST, 5000000000, false, true);
    ok(next == HS_PACE_SHORTEST, "auto: without samples the interval stays the shortest");
    pace.samples = 1000000;
    next = rb_hs_pace_next(&pace, HS_INTERVAL_MAX / 2, 5100000000, false, true);
    ok(next == HS_INTERVAL_MAX, "auto: it ends at the longest");
    next = rb_hs_pace_next(&pace, HS_INTERVAL_MAX, 5200000000, true, false);
    ok(next == HS_INTERVAL_MAX, "auto: and stays there");
    rb_hs_pace_cost(&pace, 1e9);
    ok(pace.sample_ns < SAMPLE_NS * 1.2, "auto: a sample that was interrupted is no measure");
}

void
test_pace(void)
{
    rb_hs_random_seed(&sim.random, 7);
    test_bounds();
    test_lives("with room", ROOM - 1, 2);
    test_lives("with little memory", 1500, 0);
}
