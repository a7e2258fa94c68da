#ifndef HEAP_SAMPLER_ACCOUNT_POPULATION_H
#define HEAP_SAMPLER_ACCOUNT_POPULATION_H
/*
 * Threads and fibers in numbers: what one of them may be doing, and how many of
 * a group do what.  Plain data, no MRI header.
 */
#include <stdint.h>

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

/* Its name in meta data and in Ruby. */
const char *rb_hs_alive_state_name(enum hs_alive_state state);
/* Can one of this kind be in that state? */
int rb_hs_alive_state_p(enum hs_alive_kind kind, enum hs_alive_state state);

#endif
