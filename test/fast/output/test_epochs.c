/*
 * Samples whose intervals get shorter and longer, and longer again under a cap: do the sums of each
 * session stay the sums of what was allocated? With the same seed in each run.
 */
#include "tap.h"
#include "tests.h"
#include "heap_sampler/store/epochs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 3,
       BATCH = 4000,
       CAP = 600,
       ROOM = 20000,
       TRIALS = 300 };

struct sample {
    double size;
    float longest;
    hs_session_set sessions;
    uint32_t epoch;
};

struct sums {
    double space, variance;
};

static struct hs_random randomness;
static struct hs_epochs epochs = {.use = HS_MEM_TOTALS};
static struct sample samples[ROOM];
static size_t count;
static uint64_t interval[HS_SESSIONS];

static void
add_to(struct sums *sums, const struct sample *sample, int session)
{
    double weight = rb_hs_weight(sample->size, (double)epochs.list[sample->epoch].interval[session]);
    sums->space += weight * sample->size;
    sums->variance += weight * (weight - 1) * sample->size * sample->size;
}

static uint64_t
shortest(void)
{
    uint64_t found = UINT64_MAX;
    for (int s = 0; s < SESSIONS; s++) {
        if (interval[s] < found) found = interval[s];
    }
    return found;
}

static bool
thin(void)
{
    size_t left = 0;
    bool entered = rb_hs_epoch_enter(&epochs, interval);
    for (size_t i = 0; i < count; i++) {
        if (rb_hs_lengthen(&epochs, samples[i].longest, &samples[i].sessions, &samples[i].epoch)) {
            samples[left++] = samples[i];
        }
        else {
            epochs.list[samples[i].epoch].records--;
        }
    }
    count = left;
    return entered;
}

static size_t
most_of_a_session(int *session)
{
    size_t held[SESSIONS] = {0};
    *session = 0;
    for (size_t i = 0; i < count; i++) {
        for (int s = 0; s < SESSIONS; s++) held[s] += (samples[i].sessions >> s) & 1;
    }
    for (int s = 1; s < SESSIONS; s++) {
        if (held[s] > held[*session]) *session = s;
    }
    return held[*session];
}

/* Some objects are allocated at the intervals of now, drawn at `drawn_at`; at the cap
 * the session that holds most gets a longer one. */
static double
bear(double drawn_at, bool capped)
{
    static const double sizes[] = {40, 80, 640, 100000};
    double truth = 0;
    rb_hs_epoch_enter(&epochs, interval);
    for (int i = 0; i < BATCH; i++) {
        double size = i % 1000 ? sizes[i % 3] : sizes[3];
        truth += size;
        if (rb_hs_random_unit(&randomness) > 1 / rb_hs_weight(size, drawn_at)) continue;
        struct sample sample = {.size = size, .epoch = epochs.current};
        sample.longest = rb_hs_longest_interval(&randomness, size, drawn_at);
        sample.sessions = rb_hs_sessions_within(interval, (1 << SESSIONS) - 1, sample.longest);
        if (!sample.sessions || count == ROOM) continue;
        epochs.list[sample.epoch].records++;
        samples[count++] = sample;
        int session;
        while (capped && count > CAP && most_of_a_session(&session)) {
            interval[session] *= 2;
            thin();
        }
    }
    return truth;
}

static bool
counted(void)
{
    uint64_t records = 0, of_samples = 0;
    for (uint32_t e = 0; e < epochs.count; e++) records += epochs.list[e].records;
    for (size_t i = 0; i < count; i++) of_samples += epochs.list[samples[i].epoch].records > 0;
    return records == count && of_samples == count;
}

static void
start_over(uint64_t first, uint64_t second, uint64_t third)
{
    for (size_t i = 0; i < count; i++) epochs.list[samples[i].epoch].records--;
    count = 0;
    memset(interval, 0, sizeof(interval));
    interval[0] = first;
    interval[1] = second;
    interval[2] = third;
}

/* Up, down, up: a coarse start, a closer look, a cap that takes it back in steps. */
static double
walk(bool *all_counted)
{
    double truth = 0;
    start_over(4096, 16384, 65536);
    truth += bear(4096, false);
    interval[0] = 131072;                       /* up, and past the others */
    truth += bear(4096, false);                 /* lists that were cut before it */
    truth += bear((double)shortest(), true);
    interval[0] = 512;                          /* down, far below what older ones are kept at */
    truth += bear(512, true);
    interval[2] = 256;
    truth += bear(256, true);
    *all_counted &= counted();
    interval[1] *= 4;                           /* up by hand, then by the cap */
    thin();
    truth += bear((double)shortest(), true);
    *all_counted &= counted() && count <= CAP;
    return truth;
}

/* The mean of sums over many walks, in standard errors from the truth; the
 * spread of one, against what its own variance says. */
static void
test_walks(void)
{
    struct sums mean[SESSIONS] = {{0}};
    double squares[SESSIONS] = {0};
    bool all_counted = true;
    for (int i = 0; i < TRIALS; i++) {
        double truth = walk(&all_counted);
        for (int s = 0; s < SESSIONS; s++) {
            struct sums one = {0};
            for (size_t j = 0; j < count; j++) {
                if ((samples[j].sessions >> s) & 1) add_to(&one, &samples[j], s);
            }
            mean[s].space += (one.space - truth) / TRIALS;
            mean[s].variance += one.variance / TRIALS;
            squares[s] += (one.space - truth) * (one.space - truth) / TRIALS;
        }
    }
    for (int s = 0; s < SESSIONS; s++) {
        double z = mean[s].space / sqrt(squares[s] / TRIALS), ratio = sqrt(squares[s] / mean[s].variance);
        ok(fabs(z) < 4, "session %d, intervals up, down and up under a cap: no bias (z %.2f, bound 4)", s, z);
        ok(fabs(ratio - 1) < 0.15, "its spread is what its variance says (ratio %.3f, within 0.15)", ratio);
    }
    ok(all_counted, "epochs count their records, and the cap holds");
}

/* Where intervals only get longer, a sample of a long one is one of each
 * shorter: two sessions do not contradict each other about one line. */
static void
test_nesting(void)
{
    size_t seen = 0, lacking = 0;
    for (int i = 0; i < TRIALS / 10; i++) {
        start_over(512, 1500, 9000);
        for (int batch = 0; batch < 5; batch++) bear((double)shortest(), true);
        for (size_t j = 0; j < count; j++) {
            for (int s = 0; s < SESSIONS; s++) {
                for (int shorter = 0; shorter < SESSIONS; shorter++) {
                    if (!((samples[j].sessions >> s) & 1) || interval[shorter] > interval[s]) continue;
                    seen++;
                    lacking += !((samples[j].sessions >> shorter) & 1);
                }
            }
        }
    }
    ok(seen > 10000 && !lacking, "at the cap a sample of a long interval is one of each shorter (%zu of %zu are not)",
       lacking, seen);
}

/* Nothing is thinned by an interval that is no longer than its own. */
static void
test_shorter_changes_nothing(void)
{
    start_over(8192, 8192, 8192);
    bear(8192, false);
    size_t before = count;
    interval[0] = 1024;
    thin();
    interval[0] = 4096;
    thin();
    bool as_it_was = count == before;
    for (size_t i = 0; i < count; i++) {
        as_it_was &= samples[i].sessions == 7 && epochs.list[samples[i].epoch].interval[0] == 8192;
    }
    ok(as_it_was && before > 100, "a record of a longer interval than the current one stays what it is");
}

static void
test_no_memory(void)
{
    static struct sample as_they_were[ROOM];
    start_over(1024, 4096, 65536);
    bear(1024, false);
    size_t before = count;
    memcpy(as_they_were, samples, count * sizeof(*samples));
    uint32_t allocated_in = epochs.current;

    /* Further on for one session, back for another, and no place left for what is the longer of both. */
    interval[0] *= 16;
    interval[1] /= 2;
    bool entered = rb_hs_epoch_enter(&epochs, interval);
    uint32_t current = epochs.current;
    epochs.list[current].records++;
    for (uint64_t other = 1; epochs.count < epochs.capacity || epochs.current == current; other++) {
        uint64_t filler[HS_SESSIONS] = {other};
        entered &= rb_hs_epoch_enter(&epochs, filler);
        epochs.list[epochs.current].records++;
    }
    for (uint32_t e = 0; e < epochs.count; e++) epochs.list[e].records++;
    epochs.current = current;
    fail_after(0);
    size_t dropped = 0, changed = 0;
    for (size_t i = 0; i < count; i++) {
        struct sample sample = samples[i];
        dropped += !rb_hs_lengthen(&epochs, sample.longest, &sample.sessions, &sample.epoch);
        changed += sample.sessions != samples[i].sessions || sample.epoch != allocated_in;
    }
    uint64_t unseen[HS_SESSIONS] = {3, 1, 4};
    bool stayed = !rb_hs_epoch_enter(&epochs, unseen) && epochs.current == current;
    fail_after(-1);
    ok(entered && stayed, "no memory for an epoch: the current one stays");
    ok(before > 100 && !changed && !dropped, "no memory: no record is thinned (%zu changed, %zu dropped)",
       changed, dropped);
}

static void
test_longest(void)
{
    static const double sizes[] = {1, 40, 640, 1e6, 1e9}, drawn[] = {1, 17, 1000003, 1099511627775.0};
    bool all = true;
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 4; j++) {
            for (int n = 0; n < 1000; n++) {
                float longest = rb_hs_longest_interval(&randomness, sizes[i], drawn[j]);
                all &= longest >= drawn[j];
            }
        }
    }
    ok(all, "what was drawn at an interval is a sample at it");

    /* The same draw on both sides of where the series end. */
    double furthest = 0;
    for (int n = 0; n < 1000; n++) {
        struct hs_random again = randomness;
        float below = rb_hs_longest_interval(&randomness, 40, 40 * 256 * (1 + 1e-9));
        float above = rb_hs_longest_interval(&again, 40, 40 * 256 * (1 - 1e-9));
        furthest = fmax(furthest, fabs((double)below / above - 1));
    }
    ok(furthest < 3e-7, "series and functions agree to a float's last digit (%.1e)", furthest);
}

void
test_epochs(void)
{
    rb_hs_random_seed(&randomness, 20261122);
    test_longest();
    test_walks();
    test_nesting();
    test_shorter_changes_nothing();
    test_no_memory();
}
