#ifndef HEAP_SAMPLER_SAMPLING_MALLOC_HOOKS_H
#define HEAP_SAMPLER_SAMPLING_MALLOC_HOOKS_H
/*
 * Sampling of malloc: jemalloc draws the samples and calls our hooks for the
 * birth and the death of each; store/malloc_table.c keeps them.  jemalloc's profiler
 * must have been opened when the process began (sampling/malloc_boot.c).
 */
#include <stdbool.h>
#include <stdint.h>

/* Where a malloc stood. */
enum hs_malloc_kind {
    HS_MALLOC_STACK,            /* on a stack of Ruby's */
    HS_MALLOC_AT_BOOT,          /* before there was a Ruby to ask */
    HS_MALLOC_AT_GC,
    HS_MALLOC_AT_YJIT,          /* in YJIT's compiler: not in the table */
    HS_MALLOC_AT_NO_GVL,        /* on a thread that does not hold it, or that Ruby does not know */
    HS_MALLOC_AT_SAMPLER,       /* in what the sampler calls */
    HS_MALLOC_AT_NO_FRAME,      /* Ruby has begun, no frame has */
    HS_MALLOC_EVICTED,          /* there was no room for its frames */
    HS_MALLOC_KINDS
};

/* What the malloc side can do here. */
enum hs_malloc_state {
    HS_MALLOC_MISSING,          /* it cannot be sampled: `missing` says why */
    HS_MALLOC_OFF,              /* nobody asked for it */
    HS_MALLOC_STANDBY,          /* it can be started */
    HS_MALLOC_ON
};

/* What the hooks have seen. */
struct hs_malloc_counts {
    uint64_t samples;           /* births that jemalloc drew */
    uint64_t gc, no_gvl;        /* of these, by where they were */
    uint64_t drawn_interval;    /* at which it draws now, bytes */
    uint64_t pages_bytes;       /* of the pages that it gives to small blocks that it samples, less the blocks */
};

struct hs_malloc_meta {
    enum hs_malloc_state state;
    uint64_t interval;          /* bytes, now; 0 unless on */
    uint64_t first_interval;    /* bytes, when the session began to sample malloc; 0 unless on */
    uint64_t interval_changes;
    uint64_t thinnings;         /* how often blocks that were held went, or got other weights, since there were too many */
    bool automatic;             /* malloc=auto */
    char allocator[48];         /* "jemalloc 5.3.1-0-g…", "glibc 2.36", … */
    char missing[256];          /* why malloc is not sampled, and what would change it; "": nothing */
};

/* Before main(): if the profiler is open, sample from now on, at this interval. */
void rb_hs_malloc_open(uint64_t interval);
/* What malloc= says: never, or at which interval once it starts. [gvl] */
void rb_hs_malloc_settings(bool is_off, uint64_t interval);
/* All options are read: go on, or stop if they say so. [gvl] */
void rb_hs_malloc_boot(bool wanted);

/* A session begins to sample malloc: an interval in bytes, and the serial of
 * the only thread that it is of, 0: all.  Without effect where malloc cannot
 * be sampled.  false: no memory. [gvl] [free] */
bool rb_hs_malloc_start(int session, uint64_t interval, uint32_t thread);
void rb_hs_malloc_stop(int session);
/* false: no memory, the interval is what it was. [vm] [free] */
bool rb_hs_malloc_retune(int session, uint64_t interval);

/* Name the stacks that were met since. In GC only when marking is complete
 * and nothing is swept. [vm] [free] */
void rb_hs_malloc_name_stacks(void);
/* Are there any? [any] */
bool rb_hs_malloc_raw_stacks_p(void);

/* State, interval, allocator, and why it is missing, of a session. [any] */
void rb_hs_malloc_describe(struct hs_malloc_meta *meta, int session);

/* What sampling adds to jemalloc's figures now. [malloc] */
/* What the sampler knows of jemalloc's figures. */
struct hs_account_excess {
    uint64_t allocated, resident;       /* by how much they are too high because it samples */
    bool untouched_known;
    uint64_t untouched;         /* of what is allocated: never touched, so that it is not resident; an estimate */
};

void rb_hs_malloc_excess(struct hs_account_excess *excess);

/* [malloc] */
void rb_hs_malloc_counts(struct hs_malloc_counts *counts);

/* -- sampling/malloc_draws.c -- */

/* jemalloc's profiler is looked at. false: there is none. */
bool rb_hs_malloc_open_draws(void);
/* Does jemalloc draw samples? [malloc] */
bool rb_hs_malloc_drawing(void);
/* jemalloc draws at what sessions ask for now. [vm] [free] */
void rb_hs_malloc_adjust_draws(void);
/* A sample was taken; how many there were, with this one. [malloc] */
uint64_t rb_hs_malloc_count_sample(enum hs_malloc_kind kind);
/* A block of so many bytes is sampled from now on (1), or no longer (-1). [malloc] */
void rb_hs_malloc_note_excess(uint64_t size, int sign);

#endif
