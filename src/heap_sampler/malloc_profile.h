#ifndef HEAP_SAMPLER_MALLOC_PROFILE_H
#define HEAP_SAMPLER_MALLOC_PROFILE_H
/*
 * What jemalloc's profiler says is allocated now, stack by stack.
 *
 * No MRI header.  Threads: any, without the GVL and without a lock of ours.
 * While jemalloc collects its counts, a thread whose malloc draws a sample
 * waits.
 */
#include "account.h"
#include "profile.h"

struct hs_malloc_live {
    uint64_t word;              /* hs_malloc_word, or 0: native addresses only */
    uint32_t native_at, native_count;   /* in `natives`, leaf first */
    struct hs_estimate inuse;
    struct hs_estimate alloc;   /* if alloc_known */
};

struct hs_malloc_profile {
    uint64_t interval;          /* bytes */
    bool alloc_known;           /* jemalloc runs with prof_accum */
    struct hs_account_excess excess;    /* what sampling adds to jemalloc's figures */
    struct hs_malloc_live *list;
    uint32_t count, capacity;
    uint64_t *natives;
    uint32_t native_count, native_capacity;
};

/* 0, or an errno value. What it holds goes with rb_hs_malloc_profile_free. */
int rb_hs_malloc_profile_take(struct hs_malloc_profile *profile);
/* The same from a file descriptor that holds a dump (heap_v2). EINVAL: it does not. */
int rb_hs_malloc_profile_read(struct hs_malloc_profile *profile, int fd);
/* After fork, in the child. */
void rb_hs_malloc_profile_in_child(void);
void rb_hs_malloc_profile_free(struct hs_malloc_profile *profile);

#endif
