/* diagnose=1%: which periodic profiles and clients get a GC or a walk, over the life of a process. */
#include "heap_sampler/sampling/gcs.h"
#include "tap.h"
#include "tests.h"

#include <stdio.h>

static const double second_ns = 1e9;
enum { PERCENT = 10000 };       /* in millionths */

struct life {
    unsigned gcs, walks;
    double gc_s, walk_s;
};

static uint64_t
at(double seconds)
{
    return (uint64_t)(seconds * second_ns);
}

/* Periodic profiles each `every` seconds, of a process in which a GC and a walk take so many milliseconds. */
static struct life
live(double seconds, double every, double gc_ms, double walk_ms)
{
    struct hs_budget budget = {0};
    struct life life = {0};
    for (double now = every; now <= seconds; now += every) {
        if (rb_hs_budget_gc_due_p(&budget, at(now), PERCENT, gc_ms * 1e6)) {
            budget.gc_ns += gc_ms * 1e6;
            life.gcs++;
        }
        if (!rb_hs_budget_wait(&budget, at(now), PERCENT, walk_ms * 1e6)) {
            budget.walk_ns += walk_ms * 1e6;
            life.walks++;
        }
        rb_hs_budget_forget(&budget, at(now));
    }
    life.gc_s = life.gcs * gc_ms / 1e3;
    life.walk_s = life.walks * walk_ms / 1e3;
    return life;
}

static void
test_profiles(void)
{
    struct life cheap = live(3600, 60, 60, 400);
    ok(cheap.gcs == 60 && cheap.walks == 60, "budget: where the share pays for all, each profile has a GC and a walk (%u, %u of 60)", cheap.gcs, cheap.walks);

    struct life busy = live(600, 1, 20, 1000);
    ok(busy.gc_s <= 3 && busy.gcs >= 100, "budget: GCs take half of the share (%u, %.1f s of 600)", busy.gcs, busy.gc_s);
    ok(busy.walks >= 2 && busy.gc_s + busy.walk_s <= 6, "budget: so walks are made, too, and all takes the share at most (%u, %.1f s)", busy.walks, busy.gc_s + busy.walk_s);

    struct life long_one = live(10 * 3600, 60, 100, 5000);
    ok(long_one.walks > 30 && long_one.gc_s + long_one.walk_s <= 0.01 * 10 * 3600 + 5, "budget: over ten hours it is the share, still (%u walks, %.0f s)", long_one.walks,
       long_one.gc_s + long_one.walk_s);
}

/* Clients that demand as many walks as they get, one with 1% and one with 5%. */
static void
test_clients(void)
{
    struct hs_budget budget = {0};
    const uint32_t shares[] = {PERCENT, 5 * PERCENT};
    unsigned walks[2] = {0};
    for (double now = 0; now < 1000; now += 0.1) {
        int client = (int)(now * 10) % 2;
        if (rb_hs_budget_wait(&budget, at(now), shares[client], 0)) continue;
        budget.walk_ns += 0.2 * second_ns;
        walks[client]++;
    }
    double spent = (walks[0] + walks[1]) * 0.2;
    ok(spent <= 50.2 && spent > 45, "budget: clients together take the largest share that one of them named (%.1f of 1000 s)", spent);
    ok(walks[0] <= 2, "budget: and the client with the smaller share gets no more of it (%u)", walks[0]);
}

static void
test_waits(void)
{
    struct hs_budget budget = {.since_ns = at(100), .walk_ns = 0.1 * second_ns};
    uint64_t ns = rb_hs_budget_wait(&budget, at(110), PERCENT, 0.2 * second_ns);
    ok(ns > at(19.9) && ns < at(20.1), "budget: it says how long until the share pays (%.1f s)", (double)ns / second_ns);
    ok(!rb_hs_budget_wait(&budget, at(110) + ns, PERCENT, 0.2 * second_ns), "budget: and then it does");
    ok(rb_hs_budget_wait(&budget, at(1e6), 0, 1) == INT64_MAX, "budget: without a share never");
    ok(rb_hs_budget_wait(&budget, at(110), 10, 1e30) == INT64_MAX, "budget: a price beyond all time is no overflow");
}

/* A process that was left alone for ten days: the first GC has all that time, those after it the last hour. */
static void
test_idle(void)
{
    struct hs_budget budget = {0};
    double days = 10 * 86400;
    unsigned gcs = 0;
    while (!rb_hs_budget_wait(&budget, at(days), PERCENT, 0.1 * second_ns)) {
        budget.gc_ns += 0.1 * second_ns;
        rb_hs_budget_forget(&budget, at(days));
        gcs++;
    }
    ok(gcs >= 300 && gcs <= 362, "budget: days without work pay for an hour's share at once, and no more (%u GCs of 0.1 s)", gcs);
}

void
test_budget(void)
{
    test_profiles();
    test_clients();
    test_waits();
    test_idle();
}
