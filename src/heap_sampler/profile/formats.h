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

/* The sampler, now. */
struct hs_sampler_now {
    uint64_t live_samples, samples, malloc_live_samples, malloc_samples, dropped_samples;
    uint64_t bytes, bytes_max;  /* its own; max 0: no bound */
    uint64_t thread_ns;         /* CPU time of the thread that answers */
};

/* 0, or ENOMEM. What is known of the main session is left out unless it samples; every 0: no periodic profiles. */
int rb_hs_encode_about(const struct hs_profile_meta *meta, bool sampling, uint64_t every, struct hs_buffer *out);
/* What its memory is now: `account`, `census`, `heap` and what is known of GC of `meta`. */
int rb_hs_encode_memory(const struct hs_profile_meta *meta, const struct hs_sampler_now *sampler, struct hs_buffer *out);

#endif
