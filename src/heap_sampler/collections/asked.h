#ifndef HEAP_SAMPLER_COLLECTIONS_ASKED_H
#define HEAP_SAMPLER_COLLECTIONS_ASKED_H
/* The major GCs that the sampler has asked for, and what they took. Plain data. */
#include <stdint.h>

/* Why there was one before the last periodic profile, or none. */
enum hs_asked_last {
    HS_ASKED_NONE,              /* no profile was due yet; or a forked child's first is */
    HS_ASKED_ENDED,             /* one was asked for, or marked already and was waited for; its marking is complete */
    HS_ASKED_UNFINISHED,        /* the same, and it still marks */
    HS_ASKED_NOT_NEEDED,        /* one ended by itself since the periodic profile before */
    HS_ASKED_OVER_BUDGET,       /* another would take more than the limit */
    HS_ASKED_NO_SAFE_POINT,     /* Ruby code reached none in time: it waits, or is in a long call */
    HS_ASKED_REFUSED            /* GC is disabled, or major GCs are */
};

struct hs_asked_gcs {
    uint32_t limit_ppm;         /* of the time, in millionths; 0: none is ever asked for */
    uint32_t count;
    uint64_t ns;                /* CPU time that they took */
    uint64_t of_ns;             /* time since the first periodic profile could have been waited for */
    enum hs_asked_last last;
};

#endif
