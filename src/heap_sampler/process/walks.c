/* See process/walks.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/walks.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/settings/options.h"

enum { SLOT_NS = 333,
       PPM = 1000000 };
/* So long Ruby code may stand still for what nobody has asked for by name; and so long it is taken to do for each slot, before
 * the first walk has shown it: 0.06 ms a MiB of slots. */
static const uint64_t HOLD_UP_MOST_NS = 20000000;
static const uint64_t HOLD_UP_SLOT_NS = 3;

static struct {
    uint64_t begun_ns;          /* periodic profiles */
    uint64_t profiles;
    uint64_t spent_ns;
    uint64_t last_ns, last_hold_up_ns;          /* 0: none yet */
} walks;

static uint64_t
slots(void)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t slots = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) slots += counts.heap[i].total_slots;
    return slots;
}

static bool
affordable_p(void)
{
    uint64_t next = walks.last_ns ? walks.last_ns : slots() * SLOT_NS;
    uint64_t hold_up = walks.last_hold_up_ns ? walks.last_hold_up_ns : slots() * HOLD_UP_SLOT_NS;
    double allowed = (double)(rb_hs_steady_ns() - walks.begun_ns) * rb_hs_options.why_ppm / PPM;
    return hold_up <= HOLD_UP_MOST_NS && (double)(walks.spent_ns + next) <= allowed;
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
    walks.spent_ns += ns + hold_up_ns;
    walks.last_ns = ns;
    walks.last_hold_up_ns = hold_up_ns;
}

void
rb_hs_walks_begin(void)
{
    walks.begun_ns = rb_hs_steady_ns();
    walks.profiles = walks.spent_ns = walks.last_ns = walks.last_hold_up_ns = 0;
}
