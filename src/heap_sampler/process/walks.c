/* See process/walks.h. */
#include "heap_sampler/process/walks.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/collections/collections.h"
#include "heap_sampler/settings/options.h"

enum { SLOT_NS = 333,
       MIB = 1 << 20,
       RATES = 2 };
/* So long Ruby code may stand still for what nobody has asked for by name; and so long it is taken to do for each MiB of
 * resident memory, whatever is in it, before the first walk has shown it (doc/benchmarks.md: a third of that on an idle machine). */
static const uint64_t HOLD_UP_MOST_NS = 20000000;
static const uint64_t HOLD_UP_MIB_NS = 60000;

static struct {
    uint64_t begun_ns;          /* periodic profiles */
    uint64_t profiles;
    struct hs_walk_budget budget;
    /* What a MiB of resident memory has held Ruby code up for in the last walks. The lesser counts: in the other the kernel may
     * have run somebody else. A child inherits them. */
    uint64_t rates[RATES];
} walks = {.rates = {HOLD_UP_MIB_NS, HOLD_UP_MIB_NS}};

static uint64_t
resident_mib(void)
{
    return rb_hs_resident_bytes() / MIB + 1;
}

static uint64_t
expected_hold_up(void)
{
    uint64_t rate = walks.rates[0] < walks.rates[1] ? walks.rates[0] : walks.rates[1];
    return resident_mib() * rate;
}

static bool
affordable_p(void)
{
    uint64_t elapsed = rb_hs_steady_ns() - walks.begun_ns;
    return expected_hold_up() <= HOLD_UP_MOST_NS &&
        rb_hs_walk_affordable_p(&walks.budget, elapsed, rb_hs_options.why_ppm, rb_hs_slots(false) * SLOT_NS, resident_mib());
}

bool
rb_hs_walk_due_p(void)
{
    const struct hs_options *options = &rb_hs_options;
    walks.profiles++;
    if (options->why_ppm) return affordable_p();
    return options->why && walks.profiles % options->why == 0;
}

void
rb_hs_walk_took(uint64_t ns, uint64_t hold_up_ns)
{
    if (!ns) return;
    uint64_t resident = resident_mib();
    rb_hs_walk_spend(&walks.budget, ns, hold_up_ns, resident);
    walks.rates[1] = walks.rates[0];
    walks.rates[0] = hold_up_ns / resident;
}

void
rb_hs_walks_begin(void)
{
    walks.begun_ns = rb_hs_steady_ns();
    walks.profiles = 0;
    walks.budget = (struct hs_walk_budget){0};
}
