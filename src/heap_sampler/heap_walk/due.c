/*
 * When a heap walk begins by itself; see heap_walk/launch.h.
 *
 * The share would often pay for a walk that shows nothing new, and then not for the walk that would.  So:
 *
 *   the first           when half of its price is paid for: with a share of 1% after 15 s at a million slots.  It has the
 *                       entries that containers had at first.  An early walk of a large heap sees nothing of a leak yet,
 *                       and there is none after it for minutes
 *   growth at one look  after the first: more is live than at the last walk, by a 32nd and 16 MiB (malloc's limit: what
 *                       young objects add before a GC).  Large heaps grow without a major GC for minutes, so this needs
 *                       none
 *   growth by majors    after the first: rb_hs_majors_rise_p finds a slow leak in a small heap, and a leak after a peak
 *   short of memory     two fifths of a cgroup's limit are used.  Above half, a process that has the cgroup alone would
 *                       be refused, since its copy has no room
 *
 * A walk begins when all forced work before it is paid for; its own price is paid later, since its child has a low
 * priority.  The price delays the next walk, and no major GC.  So the share is exceeded by one walk at most.
 * Profiles that the process writes and profiles for clients have a rule each: a walk for a client does not replace one
 * in the files.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/majors.h"
#include "heap_sampler/base/clock.h"

#include <string.h>

enum { START_S = 60,            /* while a young process fills its heap, a walk would cost a share that a later one needs */
       PARTS = 32,              /* memory has grown if it is larger by this part, */
       SLACK = 16 << 20,        /* and by what malloc(3) gives to young objects before a GC */
       LIMIT_PERCENT = 40 };    /* of the memory limit: from half of it on a walk has no room for its copy */

/* [0]: for walks of clients; [1]: for profiles of every= and at-rss=. Read and written by one thread at a time. */
static struct need {
    uint64_t bytes;             /* live at the last walk */
    uint64_t looked;            /* the most that was live at a look: young objects come and go */
    uint64_t walk_ns;           /* when that ended, by rb_hs_steady_ns(); 0: none was made */
    bool near_limit;            /* then */
} needs[2];

/* Objects that have survived a GC, by the samples, and all blocks of malloc. */
static uint64_t
bytes_in_use(void)
{
    rb_hs_lock();
    uint64_t bytes = rb_hs_session(HS_MAIN)->samples * rb_hs_session(HS_MAIN)->interval;
    rb_hs_unlock();
    return bytes + rb_hs_malloc_allocated();
}

/* The machine is shared with programs that this process knows nothing of: a cgroup's limit only. */
static bool
near_limit_p(void)
{
    struct hs_memory_limit limit;
    return rb_hs_memory_limit_read("", LIMIT_PERCENT, &limit) && !limit.machine && limit.used >= limit.bytes / 100 * LIMIT_PERCENT;
}

static bool
larger_p(uint64_t before, uint64_t now)
{
    return now > before + before / PARTS + SLACK;
}

static uint64_t
age_ns(void)
{
    rb_hs_lock();
    uint64_t age = rb_hs_forced().of_ns;
    rb_hs_unlock();
    return age;
}

bool
rb_hs_walk_due_p(bool for_files, uint32_t ppm, bool short_of_memory)
{
    struct need *need = &needs[for_files];
    uint64_t bytes = bytes_in_use();
    bool starts = !need->walk_ns && larger_p(need->looked, bytes) && age_ns() < START_S * (1000 * HS_MS_NS);
    if (need->looked < bytes) need->looked = bytes;
    if (rb_hs_forced_wait(ppm)) return false;
    if (need->walk_ns) {
        if (larger_p(need->bytes, bytes) || rb_hs_memory_rises_p(need->walk_ns)) return true;
    }
    else if (!starts && rb_hs_forced_walk_wait(ppm) <= age_ns()) {
        return true;
    }
    return !need->near_limit && (short_of_memory || near_limit_p());
}

void
rb_hs_walk_made(bool for_files)
{
    needs[for_files] = (struct need){.bytes = bytes_in_use(), .walk_ns = rb_hs_steady_ns(), .near_limit = near_limit_p()};
}

void
rb_hs_walks_forget(void)
{
    memset(needs, 0, sizeof(needs));
}
