/* why=1%: which periodic profiles have a walk, over the life of a process. */
#include "heap_sampler/process/walks.h"
#include "tap.h"
#include "tests.h"

#include <stdio.h>

static const uint64_t second_ns = 1000000000, ppm = 10000;

struct life {
    unsigned walks;
    double last_at_mib;         /* resident memory at the last walk */
    double spent_s;
};

/* Profiles each `every` seconds; a walk takes `cost_ms`, and resident memory goes from `from` to `to` MiB. */
static struct life
live(unsigned profiles, unsigned every, uint64_t cost_ms, double from, double to)
{
    struct hs_walk_budget budget = {0};
    struct life life = {0};
    for (unsigned i = 1; i <= profiles; i++) {
        double mib = from + (to - from) * i / profiles;
        if (!rb_hs_walk_affordable_p(&budget, (uint64_t)i * every * second_ns, ppm, 30000000, (uint64_t)mib)) continue;
        rb_hs_walk_spend(&budget, cost_ms * 1000000, 1000000, (uint64_t)mib);
        life.walks++;
        life.last_at_mib = mib;
    }
    life.spent_s = (double)budget.spent_ns / (double)second_ns;
    return life;
}

void
test_walk_budget(void)
{
    /* The first walk of a starved machine takes what the share gives in a minute: then the leak is not to be seen in it. */
    struct life leak = live(8, 6, 600, 80, 160);
    ok(leak.walks >= 2 && leak.last_at_mib > 1.4 * 90, "walks: of a process that grows for 48 s a late profile has one, too (%u, the last at %.0f MiB)",
       leak.walks, leak.last_at_mib);

    struct life steady = live(600, 60, 5000, 300, 300);
    ok(steady.walks > 50 && steady.spent_s <= 0.01 * 600 * 60, "walks: of a process that does not grow they take the share (%u, %.0f s of 10 hours)", steady.walks, steady.spent_s);

    struct life tenfold = live(600, 60, 5000, 100, 1000);
    ok(tenfold.spent_s <= 0.01 * 600 * 60 + 20 * 5, "walks: to ten times the memory they take 20 more at most (%.0f s of 10 hours)", tenfold.spent_s);

    struct life dear = live(60, 60, 60000, 100, 1000);
    ok(dear.spent_s <= 0.04 * 60 * 60 + 60, "walks: never more than four times the share, and the first (%.0f s of an hour)", dear.spent_s);
}
