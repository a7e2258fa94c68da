/*
 * See process/process.h.
 *
 * only=1/N compares one number for each process with 1/N.  With seed= that
 * number is a hash of the seed, the host's name and the id of the first
 * process.  Of a forked process the hash also has, for each fork on the way,
 * how many forks there were before.
 *
 * A seed repeats a run only as far as the program repeats its allocations.  With address space randomisation MRI's own
 * caches and conservative marking differ a little; `setarch -R` makes runs identical.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/process/process.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/draw.h"
#include "heap_sampler/store/page_table.h"

#include <sys/random.h>
#include <unistd.h>

static struct hs_process process;
/* Which process this is among those that began as one: 0 for the first; a child's follows from its parent's and from how
 * many children came before it, so that it is the same in each run of the same program. */
static uint64_t lineage;
static uint64_t forks;          /* by this process and those that it comes from */
static uint64_t first_pid;
static uint64_t only_number;    /* drawn once in each process: a process that 1/10 chooses would be chosen by 1/5 */
static bool only_drawn;

static uint64_t
entropy(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
    return hs_mix(rb_hs_steady_ns() ^ ((uint64_t)getpid() << 32) ^ rb_hs_now_ns());
}

const struct hs_process *
rb_hs_process(void)
{
    return &process;
}

void
rb_hs_process_seed(void)
{
    const struct hs_limits *limits = &rb_hs_slot_store.limits;
    if (!first_pid) first_pid = (uint64_t)getpid();
    process.start = entropy() >> 1;
    rb_hs_random_seed(&rb_hs_slot_store.random, limits->seeded ? hs_mix(limits->seed + 1) + lineage : entropy());
    rb_hs_malloc_seed(rb_hs_random_next(&rb_hs_slot_store.random));
    only_drawn = false;
}

/* Processes that start in the same way must not all make the same choice: the host's name and the process id differ. A container that is
 * started again under its name has both again, and makes the same choice. */
static uint64_t
seeded_number(uint64_t seed)
{
    char host[256] = "";
    uint64_t number = hs_mix(seed + 1);
    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++) number = hs_mix(number + (unsigned char)*c);
    return hs_mix(hs_mix(number + first_pid) + lineage);
}

bool
rb_hs_process_chosen_p(uint32_t one_in)
{
    const struct hs_limits *limits = &rb_hs_slot_store.limits;
    if (one_in <= 1) return true;
    if (!only_drawn) only_number = limits->seeded ? seeded_number(limits->seed) : entropy();
    only_drawn = true;
    return only_number <= UINT64_MAX / one_in;
}

void
rb_hs_process_forked(bool child)
{
    forks++;
    if (!child) return;
    process.child = true;
    process.ids_at_fork = rb_hs_slot_store.next_id;
    lineage = hs_mix(lineage + forks);
    rb_hs_process_seed();
}

void
rb_hs_process_ends(void)
{
    process.ended = true;
}
