#ifndef HEAP_SAMPLER_PROFILE_FORMATS_H
#define HEAP_SAMPLER_PROFILE_FORMATS_H
/*
 * From a profile to bytes: pprof, compressed or not.  Other formats are made in
 * Ruby, from pprof or from a snapshot (lib/heap_sample/files).  No MRI header.
 * [any]
 *
 * Each function returns 0, ENOMEM, or EINVAL if an index of the profile leads
 * nowhere.  After an error what the buffer holds is good for
 * rb_hs_buffer_free() only.
 */
#include <stdbool.h>
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/memory/process_info.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/profile.h"

enum hs_format { HS_PB_GZ,
                 HS_PB };

/* Which format the path's ending asks for; false: none of them. */
bool rb_hs_format_of(const char *path, enum hs_format *format);
/* Its ending, with the dot. */
const char *rb_hs_format_ending(enum hs_format format);

/* pprof's sample type that a reader shows first: alloc_space, or inuse_space. */
enum hs_shown_first { HS_INUSE_FIRST,
                      HS_ALLOC_FIRST };
int rb_hs_encode(const struct hs_profile *profile, enum hs_format format, enum hs_shown_first first, struct hs_buffer *out);

/* What a profile says about itself: the message Meta of a file. */
int rb_hs_encode_meta(const struct hs_profile *profile, struct hs_buffer *out);

/* What a process says about itself without a profile, as JSON objects with the fields of doc/heap_sampler.proto. [any] */

struct hs_about {
    const char *ruby, *deploy;
    uint64_t process_id, process_start, taken_ns;
    bool sampling, interval_auto;
    uint64_t started_ns, interval, every;       /* 0: none */
    struct hs_who who;
    struct hs_malloc_meta malloc;
    struct hs_account account, account_at_start;        /* at_start.taken_ns 0: not sampled */
};

/* What its memory is now. */
struct hs_memory_now {
    struct hs_account account, account_at_start;
    struct hs_census census;
    struct {
        uint64_t count, minor, major;
        uint64_t ns;            /* CPU time of all of them */
        bool timed;             /* false: nobody takes their time */
        uint64_t last_major_ns; /* Unix time; 0: none yet */
    } gc;
    uint32_t heaps;
    struct hs_heap_stat heap[HS_HEAPS_MAX];
    struct {
        uint64_t live_samples, samples, malloc_live_samples, malloc_samples, dropped_samples;
        uint64_t bytes, bytes_max;      /* its own; max 0: no bound */
        uint64_t thread_ns;     /* CPU time of the thread that answers */
    } sampler;
};

/* 0, or ENOMEM. */
int rb_hs_encode_about(const struct hs_about *about, struct hs_buffer *out);
int rb_hs_encode_memory(const struct hs_memory_now *now, struct hs_buffer *out);

#endif
