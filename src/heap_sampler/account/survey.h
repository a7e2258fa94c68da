#ifndef HEAP_SAMPLER_ACCOUNT_SURVEY_H
#define HEAP_SAMPLER_ACCOUNT_SURVEY_H
/*
 * A survey of the process's mappings: how much of the address space is
 * resident, and what for, as far as the kernel and the program's files tell.
 */
#include <stdbool.h>
#include <stdint.h>

/* Resident bytes; from heap to other each byte of `rss` is in one field. */
struct hs_survey {
    uint64_t rss;
    uint64_t heap;              /* in the bodies of GC's heap pages */
    uint64_t stacks;            /* of threads and fibers */
    uint64_t files;             /* mapped, their .bss included */
    uint64_t jit;               /* executable memory that is no file's */
    uint64_t noreserve;         /* what is left of mappings with MAP_NORESERVE, */
    uint64_t other;             /* and of all others */

    uint64_t pss;               /* 0: not read */
};

/* [any] [free] It allocates nothing.
 * `may_hold_up`: as for rb_hs_account_take; without it noreserve may be 0, and
 * in `other`.  False: /proc cannot be read; *survey is as it was. */
bool rb_hs_survey_take(struct hs_survey *survey, bool may_hold_up);

/* How much of [start, end) the kernel has in memory, bytes. `pagemap` is what
 * the second opened, and its caller closes; -1: it cannot be read. */
uint64_t rb_hs_survey_resident(int pagemap, uint64_t start, uint64_t end);
int rb_hs_survey_open_pagemap(void);

#endif
