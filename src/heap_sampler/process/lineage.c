/* See process/process.h. */
#include "heap_sampler/process/process.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/options.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/page_table.h"

#include <sys/random.h>
#include <unistd.h>

static uint64_t
entropy(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
    return hs_mix(rb_hs_steady_ns() ^ ((uint64_t)getpid() << 32) ^ rb_hs_now_ns());
}

/* Which process this is among those that began as one: 0 for the first; a child's follows from its parent's and from how
 * many children came before it, so that it is the same in each run of the same program. */
static uint64_t lineage;
static uint64_t forks;          /* by this process and those that it comes from */
static struct hs_process process;
static uint64_t first_pid;
/* What only=1/N decides by, one number for each process, drawn when it is first asked for: whoever is chosen at 1/10 would
 * have been at 1/5, and nobody is asked twice. */
static uint64_t luck;
static bool luck_drawn;

/* Processes that start alike must not decide alike: the host's name and the process id tell them apart. A container that is
 * started again under its name has both again, and decides as it did. */
static uint64_t
seeded_luck(uint64_t seed)
{
    char host[256] = "";
    uint64_t number = hs_mix(seed + 1);
    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++) number = hs_mix(number + (unsigned char)*c);
    return hs_mix(hs_mix(number + first_pid) + lineage);
}

const struct hs_process *
rb_hs_process(void)
{
    return &process;
}

/* A seeded process's children have sequences of their own, the same in each run. */
void
rb_hs_seed_process(void)
{
    const struct hs_options *options = &rb_hs_options;
    if (!first_pid) first_pid = (uint64_t)getpid();
    process.start = entropy() >> 1;
    rb_hs_random_seed(&rb_hs_slot_store.random, options->seeded ? hs_mix(options->seed + 1) + lineage : entropy());
    rb_hs_malloc_seed(rb_hs_random_next(&rb_hs_slot_store.random));
    luck_drawn = false;
}

bool
rb_hs_process_chosen_p(void)
{
    const struct hs_options *options = &rb_hs_options;
    if (options->only_n <= 1) return true;
    if (!luck_drawn) luck = options->seeded ? seeded_luck(options->seed) : entropy();
    luck_drawn = true;
    return luck <= UINT64_MAX / options->only_n;
}

void
rb_hs_process_forked(void)
{
    forks++;
}

void
rb_hs_process_becomes_child(void)
{
    process.child = true;
    process.ids_at_fork = rb_hs_slot_store.next_id;
    lineage = hs_mix(lineage + forks);
    rb_hs_seed_process();
}
