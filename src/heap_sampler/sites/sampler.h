#ifndef HEAP_SAMPLER_SITES_SAMPLER_H
#define HEAP_SAMPLER_SITES_SAMPLER_H
/*
 * The sampler's state: its sessions, its sites, and what it has counted.
 *
 *     record (slots/page_table.h) --> site --> node (stacks/stack_table.h) --> frame
 *        |                             |  \-> class (stacks/class_table.h), label set (labels/label_sets.h)
 *        |                             \----- totals of each session, by the site's number
 *        \--> epoch (estimate/epochs.h): at which interval each session keeps the record
 *
 * Plain data: [read] and [write], unless a field says otherwise.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/account/account.h"
#include "heap_sampler/estimate/draw.h"
#include "heap_sampler/estimate/epochs.h"

/* How full the pages of one of the VM's heaps are, as the last major GC, or compaction, left it. */
struct hs_heap_use {
    bool known;                 /* false: no major GC has looked */
    uint64_t pages;             /* with at least one living object */
    uint64_t pinned_pages;      /* of these, with an object that must not be moved */
    uint64_t live_slots;
    uint64_t free_slots;        /* of these pages */
};

/* How many of the pages would be empty if all that can be moved stood as close
 * together as it can: compaction empties no more, as long as each object stays
 * in its heap. */
uint64_t rb_hs_heap_spare_pages(const struct hs_heap_use *use);

/* What a session has seen of a site since it began. */
struct hs_totals {
    struct hs_estimate alloc, dead;
    double dead_gcs;
};

/* Adds one to the other. */
void rb_hs_totals_add(struct hs_totals *sum, const struct hs_totals *more);

/* Which of the dead keep their names when others are folded: those that have
 * allocated most often, since they will again. */
struct hs_spared {
    uint32_t by_bits[65];
};     /* how many have so many significant bits in their number of samples */
void rb_hs_spared_count(struct hs_spared *spared, uint64_t samples);
/* The least number of samples that spares one, if `room` may be spared; never
 * 1, or none would be folded. UINT64_MAX: none is. */
uint64_t rb_hs_spared_from(const struct hs_spared *spared, uint32_t room);

enum {
    HS_MAIN = 0,                /* of HS_SESSIONS: the process's own */
    HS_HEAPS_MAX = 16
};

/* A site: where an object was born, as what, and for whom. */
struct hs_site {
    uint32_t node;
    uint32_t class_id;
    uint16_t slot_size;
    uint16_t labels;            /* the label set that its fiber had */
};

struct hs_session {
    bool on;
    uint64_t serial;
    uint64_t interval, first_interval;          /* bytes */
    uint64_t interval_changes;
    uint64_t thinnings;         /* how often records that were held went, or got other weights, since there were too many */
    uint32_t thread;            /* only this thread's samples; 0: all threads' */
    uint64_t started_ns;        /* Unix time */
    uint64_t samples;           /* live records with its bit */
    struct hs_totals *totals;   /* by site; shorter than the sites when the newest have none */
    uint32_t totals_count, totals_capacity;
    uint64_t live_at_start[HS_HEAPS_MAX];
    struct hs_account account_at_start;         /* HS_MAIN only */
};

struct hs_sampler {
    struct hs_random random;    /* [vm] */
    struct hs_session session[HS_SESSIONS];
    uint64_t interval;          /* bytes, the smallest of all sessions'; 0: off */
    struct hs_epochs epochs;
    struct hs_site *sites;
    uint32_t site_count, site_capacity;
    uint32_t marks;             /* completed marks */
    uint64_t minor_ns, major_ns;                /* Unix time of the last, 0: none */
    uint64_t major_gc;          /* the GC count of that major one */
    uint64_t next_id;           /* atomic: drawn with [vm] alone, and checked with the lock alone */
    uint64_t ids_at_fork;       /* records up to this one were born in the process that this one was forked from */
    struct hs_heap_use heap_use[HS_HEAPS_MAX];
    uint64_t next_session;
    uint64_t process_start;     /* random: tells processes apart, forks too */
    uint64_t forks;             /* by this process and those that it comes from */
    bool child;                 /* it comes from another */
    uint64_t dropped_samples, dropped_moves;
    uint64_t moves;             /* records that followed an object, ever */
    uint64_t taken;             /* samples taken, ever */
};

extern struct hs_sampler rb_hs_sampler;

#endif
