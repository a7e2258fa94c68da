#ifndef HEAP_SAMPLER_MALLOC_STATE_H
#define HEAP_SAMPLER_MALLOC_STATE_H
/* Is malloc sampled, and if not, why? Plain data. */
#include <stdbool.h>
#include <stdint.h>

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

#endif
