#ifndef HEAP_SAMPLER_ACCOUNT_ALIVE_H
#define HEAP_SAMPLER_ACCOUNT_ALIVE_H
/*
 * The lists of all threads and of all fibers that there are, from the first on,
 * sampling or not.
 *
 *     thread or fiber        in its list
 *     made                   from here
 *     runs, waits, …         what it does is looked at when somebody counts
 *     has ended              still: its object may be referred to, and hold its stack
 *     its struct is freed    to here
 *
 * A place in a list is a part of the thread's or the fiber's own struct: no
 * memory of ours, and a few stores to begin and to end.  Who holds the mutex
 * may read the struct of each that is in a list, since it leaves the list
 * before it is freed.  No MRI header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/account/population.h"
#include "internal/heap_sampler.h"

/* Where something was made. */
struct hs_alive_place {
    uint32_t origin;            /* HS_ORIGIN_MAIN, HS_ORIGIN_C; HS_ORIGINS_FIXED: a line, */
    uint32_t line;              /* this one */
    const char *path;           /* in no heap slot */
    size_t len;
};

/* [any] It takes the mutex. */
void rb_hs_alive_add(enum hs_alive_kind kind, struct rb_heap_sampler_alive *alive, const struct hs_alive_place *place);
/* Is it in a list? By who may add it, or with the mutex held. */
bool rb_hs_alive_p(const struct rb_heap_sampler_alive *alive);
/* If it is in a list. [any], in GC too. */
void rb_hs_alive_remove(struct rb_heap_sampler_alive *alive);

/* Visits all of a list that were there when it began.  `copy` is called with the mutex held, and may read the struct
 * that it is given; false: it is given no more until `work` was called, without the mutex.  `work` is called at the end too. [any] */
struct hs_alive_visit {
    bool (*copy)(const struct rb_heap_sampler_alive *alive, void *data);
    void (*work)(void *data);
    void *data;
};
void rb_hs_alive_each(enum hs_alive_kind kind, const struct hs_alive_visit *visit);

/* For fork: nobody adds or removes between the two. */
void rb_hs_alive_before_fork(void);
void rb_hs_alive_after_fork(bool child);

#endif
