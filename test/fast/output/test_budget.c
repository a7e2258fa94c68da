/* diagnose=1%: which periodic profiles and clients get a GC or a walk, over the life of a process. */
#include "heap_sampler/sampling/gcs.h"
#include "tap.h"
#include "tests.h"

#include <math.h>
#include <stdio.h>

static const double second_ns = 1e9;
enum { PERCENT = 10000 };       /* in millionths */

struct life {
    unsigned gcs, walks;
    double gc_s, walk_s;
    double longest;             /* seconds from a GC to the next, or to the end */
    double above;               /* seconds by which all of it exceeded the share */
};

static uint64_t
at(double seconds)
{
    return (uint64_t)(seconds * second_ns);
}

/* Periodic profiles each `every` seconds, of a process in which a GC and a walk take so many milliseconds. The first walk is
 * expected to take `first_ms`. */
static struct life
live(double seconds, double every, double gc_ms, double walk_ms, double first_ms)
{
    struct hs_budget budget = {0};
    struct life life = {0};
    double last = 0;
    for (double now = every; now <= seconds; now += every) {
        if (rb_hs_budget_gc_due_p(&budget, at(now), PERCENT, gc_ms * 1e6, at(last))) {
            budget.gc_ns += gc_ms * 1e6;
            life.gcs++;
            last = now;
        }
        if (!rb_hs_budget_wait(&budget, at(now), PERCENT, (life.walks ? walk_ms : first_ms) * 1e6)) {
            budget.walk_ns += walk_ms * 1e6;
            life.walks++;
        }
        life.longest = fmax(life.longest, fmin(now + every, seconds) - last);
        life.above = fmax(life.above, (budget.gc_ns + budget.walk_ns - 0.01 * (double)(at(now) - budget.since_ns)) / second_ns);
        rb_hs_budget_forget(&budget, at(now));
    }
    life.gc_s = life.gcs * gc_ms / 1e3;
    life.walk_s = life.walks * walk_ms / 1e3;
    return life;
}

static void
test_profiles(void)
{
    struct life cheap = live(3600, 60, 60, 400, 400);
    ok(cheap.gcs == 60 && cheap.walks == 60, "budget: where the share pays for all, each profile has a GC and a walk (%u, %u of 60)", cheap.gcs, cheap.walks);

    struct life busy = live(600, 1, 20, 1000, 1000);
    ok(busy.gc_s <= 3 && busy.gcs >= 100, "budget: GCs take half of the share (%u, %.1f s of 600)", busy.gcs, busy.gc_s);
    ok(busy.walks >= 2 && busy.gc_s + busy.walk_s <= 6, "budget: so walks are made, too, and all takes the share at most (%u, %.1f s)", busy.walks, busy.gc_s + busy.walk_s);

    struct life long_one = live(10 * 3600, 60, 100, 5000, 5000);
    ok(long_one.walks > 30 && long_one.gc_s + long_one.walk_s <= 0.01 * 10 * 3600 + 5, "budget: over ten hours it is the share, still (%u walks, %.0f s)", long_one.walks,
       long_one.gc_s + long_one.walk_s);
}

/* Each profile would take one: what the share pays for is spread over the life, whatever walks take. */
static void
test_even(void)
{
    struct life dear = live(64, 2, 80, 245, 60);
    ok(dear.gcs >= 3 && dear.longest <= 18, "budget: a walk that takes four times as long as expected delays no GC (%u, %.0f s)", dear.gcs, dear.longest);
    ok(dear.above <= 0.245, "budget: the share is exceeded by one walk at most (%.2f s)", dear.above);

    struct life often = live(3600, 2, 80, 1000, 1000);
    ok(often.gcs >= 220 && often.longest <= 18, "budget: in an hour none is later than twice the price of one (%u, %.0f s)", often.gcs, often.longest);
    ok(often.above <= 0.08, "budget: and the share is kept (%.2f s)", often.above);

    /* GCs of half the life were the program's own: the savings do not go into a GC for each profile. */
    struct hs_budget saved = {.since_ns = 0};
    unsigned gcs = 0;
    double last = 1800;
    for (double now = 1802; now <= 1900; now += 2) {
        if (!rb_hs_budget_gc_due_p(&saved, at(now), PERCENT, 80e6, at(last))) continue;
        saved.gc_ns += 80e6;
        last = now;
        gcs++;
    }
    ok(gcs == 12, "budget: savings make GCs twice as frequent at most (%u in 100 s, each paid for in 16 s)", gcs);
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
    test_even();
    test_clients();
    test_waits();
    test_idle();
}
