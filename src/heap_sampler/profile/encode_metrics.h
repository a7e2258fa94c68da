#ifndef HEAP_SAMPLER_PROFILE_ENCODE_METRICS_H
#define HEAP_SAMPLER_PROFILE_ENCODE_METRICS_H
/*
 * What a process says of itself for a monitor: its account, GC, heap, threads,
 * and the sampler's own, in the text format of OpenMetrics 1.0, or in the older one of Prometheus.
 *
 * A page is of one process or of several, and has each metric once; so it is
 * made in two steps.  Each process writes its *part*: the samples, below a line with
 * `@` and the metric's name.  Whoever answers makes a page of all parts.
 *
 * Each sample has the label `pid`.  All other labels have a few fixed values.
 * No MRI header. [any]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/account/account.h"
#include "heap_sampler/account/census.h"
#include "heap_sampler/account/who.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/malloc/state.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/sites/sampler.h"

struct hs_metrics {
    const char *ruby;           /* RUBY_DESCRIPTION */
    const char *deploy;         /* "": none */
    uint64_t process_id, cpu_ns, start_ns;      /* start_ns: Unix time; 0: not known */
    struct hs_who who;
    struct hs_account account;
    struct hs_census census;
    uint64_t gc_minor, gc_major, gc_ns;
    bool gc_timed;
    uint64_t last_major_ns;     /* Unix time; 0: not known */
    uint32_t heaps;
    struct hs_heap_stat heap[HS_HEAPS_MAX];
    bool sampling;
    uint64_t interval, malloc_interval;         /* bytes; 0: not sampled */
    uint64_t live_samples, taken, malloc_live_samples, malloc_taken;
    uint64_t dropped_samples, dropped_stacks, dropped_frames, dropped_classes;
    uint64_t own_bytes[HS_MEM_USES];
    uint64_t own_bytes_max;     /* 0: no bound */
    uint64_t service_cpu_ns;    /* of the thread that answers */
};

/* The part of this process. */
void rb_hs_encode_metrics(const struct hs_metrics *metrics, struct hs_buffer *out);

struct hs_metrics_part {
    const char *ptr;
    size_t len;
};
/* The page of all parts. `open`: OpenMetrics. A line that is no sample of its metric is left out. */
void rb_hs_metrics_page(const struct hs_metrics_part *parts, size_t count, bool open, struct hs_buffer *out);
/* Its Content-Type. */
const char *rb_hs_metrics_type(bool open);

#endif
