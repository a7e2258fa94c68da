#ifndef HEAP_SAMPLER_PROFILE_ENCODE_ABOUT_H
#define HEAP_SAMPLER_PROFILE_ENCODE_ABOUT_H
/* What a process says of itself without a profile, as JSON objects with the fields of doc/format.md. [any] */
#include <stdbool.h>
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/census.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/malloc/state.h"
#include "heap_sampler/profile/buffer.h"

struct hs_about {
    const char *ruby, *deploy, *http;           /* http: where it is answered, or "" */
    uint64_t process_id, process_start, taken_ns;
    bool sampling, interval_auto;
    uint64_t started_ns, interval, every;       /* 0: none */
    struct hs_who who;
    struct hs_malloc_meta malloc;
    struct hs_account account, account_at_start;        /* at_start.taken_ns 0: not sampled */
};

/* What its GCs are so far. */
struct hs_gc_so_far {
    uint64_t count, minor, major;
    uint64_t ns;                /* CPU time of all of them */
    bool timed;                 /* false: nobody takes their time */
};

/* 0, or ENOMEM. */
int rb_hs_encode_about(const struct hs_about *about, struct hs_buffer *out);
int rb_hs_encode_memory(const struct hs_account *account, const struct hs_account *at_start, const struct hs_census *census,
                        const struct hs_gc_so_far *gc, struct hs_buffer *out);

#endif
