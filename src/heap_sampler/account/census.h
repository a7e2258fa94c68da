#ifndef HEAP_SAMPLER_ACCOUNT_CENSUS_H
#define HEAP_SAMPLER_ACCOUNT_CENSUS_H
/*
 * How many threads and fibers there are, what they do, where they were made,
 * and how much of their stacks is resident.  Plain data.
 *
 * What was never touched of a stack is not resident, and in no figure but
 * `malloced`, which the account subtracts from what malloc(3) says of itself.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/fields.h"
#include "heap_sampler/base/texts.h"

/*
 * Threads and fibers in numbers: what one of them may be doing, and how many of
 * a group do what.  Plain data, no MRI header.
 */

enum hs_alive_kind { HS_THREADS,
                     HS_FIBERS,
                     HS_ALIVE_KINDS };

enum hs_alive_state {
    /* of threads */
    HS_RUNNING,                 /* it holds the GVL of its Ractor */
    HS_RUNNABLE,                /* it waits for it */
    HS_SLEEPING,                /* in sleep, or waiting for a time */
    HS_WAITING,                 /* for another thread: a Mutex, Queue, ConditionVariable, Thread#join */
    HS_BLOCKED,                 /* without the GVL: in a system call, or C code that let go of it */
    /* of fibers */
    HS_CREATED,                 /* it was never resumed */
    HS_RESUMED,                 /* it runs */
    HS_SUSPENDED,
    /* of both: it has ended, and is no more alive; its object still exists */
    HS_ENDED,
    HS_ALIVE_STATES
};

struct hs_population {
    uint32_t count;             /* that live */
    uint32_t states[HS_ALIVE_STATES];   /* those in HS_ENDED are not in `count` */
    uint64_t stacks;            /* resident bytes of their stacks */
};

/* What it is called in files and in Ruby. */
enum hs_field rb_hs_alive_state_field(enum hs_alive_state state);
/* Can one of this kind be in that state? */
int rb_hs_alive_state_p(enum hs_alive_kind kind, enum hs_alive_state state);

struct hs_birthplace {
    enum hs_alive_kind kind;
    uint32_t line;              /* 0: none */
    struct hs_text path;        /* in `paths` */
    struct hs_population population;
};

enum { HS_BIRTHPLACES = 64 };   /* of a kind in a census, the most populous; what is left is "(other)" */

struct hs_census {
    bool taken;
    bool stacks_known;          /* else the kernel did not say what is resident */
    struct hs_population of[HS_ALIVE_KINDS];
    uint64_t malloced;          /* bytes of stacks from malloc(3), of those that ended too, */
    uint64_t malloced_resident; /* and of these the resident */
    struct hs_birthplace *places;       /* by kind, the most populous first; NULL: no memory */
    uint32_t place_count;
    char *paths;
};

/* Without `places` it allocates nothing. Free it. [any] [free] */
void rb_hs_census_take(struct hs_census *census, bool places);
void rb_hs_census_free(struct hs_census *census);

#endif
