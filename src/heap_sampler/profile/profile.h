#ifndef HEAP_SAMPLER_PROFILE_PROFILE_H
#define HEAP_SAMPLER_PROFILE_PROFILE_H
/*
 * A profile: what one snapshot of one session found, as plain data.
 *
 * No VALUE and no MRI header from here down: a profile is built, encoded,
 * compressed and written by any thread without the GVL.  It owns its arrays and
 * the bytes of some texts; it holds the sampler's names, to which the others point.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/majors.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/heap_walk/retainers.h"

#define HS_FORMAT_VERSION 1

/* A file that is mapped into memory with native code in it. */
struct hs_mapping {
    uint64_t start, end;        /* addresses */
    uint64_t offset;            /* of `start` in the file, bytes */
    uint32_t path;              /* text */
    uint32_t build_id;          /* text: hexadecimal digits, or "" */
};

/* A part of live memory, estimated. */
struct hs_share {
    double space;               /* bytes */
    double variance;
};

/* clang-format off */
/*
 * The figures of a row, by their names in C, in files and in Ruby.  From this list follow struct hs_row, sums of rows, what a
 * file has and what Ruby gets: GC::SampleProfile.raw_columns, which is lib/heapsample/profile/columns.rb in the same order.
 * `field` is a number in the message Row of doc/heap_sampler.proto.
 *
 *     ESTIMATE(name, field)        samples, objects, space and variance, in four fields
 *     SHARE(name, field)           a part of the bytes of `inuse`: space and variance, in two fields
 *     SUM(name, field, absent)     a number; a file does not have one that is equal to `absent`
 */
#define HS_ROW_FIGURES(ESTIMATE, SHARE, SUM) \
    ESTIMATE(inuse, 5)              /* found alive by the last completed mark; of malloc: allocated now */ \
    ESTIMATE(young, 9)              /* allocated since that mark */ \
    ESTIMATE(alloc, 13)             /* all allocations since the session's start */ \
    ESTIMATE(freed, 17)             /* of these, freed */ \
    SUM(freed_gcs, 21, 0)           /* sum of weight * GCs survived, over the freed */ \
    SUM(memsize, 22, 0)             /* bytes: live slots with what they hold outside; if meta.memsize */ \
    SUM(resident, 23, row->inuse.space) /* bytes of `inuse` that the kernel has resident; of slots all */ \
    SHARE(holds_free, 24)           /* of live slots: free bytes of their heap pages, see sampling/gcs.h */ \
    SUM(holds_free_pinned, 26, 0)   /* of that, by what compaction must not move */ \
    SHARE(unshared, 27)             /* of live slots: bytes on memory pages that were inherited and are this process's own */ \
    SUM(unshared_allocated, 29, 0)  /* of that, of objects that were allocated since the fork */
/* clang-format on */

/* One row: samples that agree on everything before the estimates.  A row is either of heap slots, or of
 * memory that malloc(3) gave, with class and type "(malloc)" and slot_size 0 (doc/format.md). */
struct hs_row {
    uint32_t node;
    uint32_t library;           /* text: base name of the file whose code called malloc; "": a row of slots */
    uint32_t class_name;        /* text */
    uint32_t type;              /* text: "T_STRING", … */
    uint32_t slot_size;         /* bytes */
    uint32_t thread;            /* serial of the allocating thread, 0: several */
    uint32_t labels;            /* text: lines "key=value" in the order of the keys; "": none */
    bool malloced;
    bool has_allocation_gc;     /* false: a row of totals only (alloc, freed) */
    uint64_t allocation_gc;     /* GC count at the allocation, if has_allocation_gc */
#define ESTIMATE(name, field) struct hs_estimate name;
#define SHARE(name, field) struct hs_share name;
#define SUM(name, field, absent) double name;
    HS_ROW_FIGURES(ESTIMATE, SHARE, SUM)
#undef ESTIMATE
#undef SHARE
#undef SUM
};

struct hs_heap_stat {
    uint32_t slot_size;
    uint64_t total_slots;
    uint64_t live_slots;        /* allocated and not yet swept */
    uint64_t live_at_start;     /* the same when the session started */
    struct hs_heap_use use;
};

struct hs_profile_meta {
    uint64_t interval;          /* bytes, now */
    uint64_t first_interval;    /* bytes, at the session's start */
    uint64_t interval_changes, thinnings;
    bool interval_auto;
    uint64_t max_samples;       /* 0: none */
    uint32_t only_n;            /* only=1/N */
    bool seeded;
    uint64_t seed;
    uint64_t process_id;
    uint64_t process_start;     /* random, one per process and fork */
    struct hs_identity identity;
    char deploy[64];            /* as deploy= has it; "": none */
    uint64_t session;           /* serial of the session in its process */
    uint64_t started_ns;        /* Unix time */
    uint64_t taken_ns;
    uint64_t gc_count, gc_minor, gc_major;
    uint64_t objects;           /* allocated by the process so far */
    uint64_t gc_ns;             /* CPU time of all of them */
    uint64_t cpu_ns;            /* CPU time of the process */
    bool gc_timed;              /* false: no clock measures it */
    uint64_t last_minor_ns, last_major_ns;      /* Unix time, 0: none yet */
    uint64_t last_major_gc;     /* the GC count of the last major one, 0: none yet */
    struct hs_gc_times gc_times;        /* Unix time */
    struct hs_majors majors;            /* the same */
    struct hs_gc_log gc_log;            /* the same */
    uint32_t diagnose_ppm;      /* share of the run time that periodic profiles may force, in millionths; 0: off */
    struct hs_forced forced;
    uint64_t live_samples;
    uint64_t drop_samples, drop_stacks, drop_frames, drop_classes, drop_moves;
    uint64_t own_bytes;
    uint32_t heaps;
    struct hs_heap_stat heap[HS_HEAPS_MAX];
    char ruby[128];             /* RUBY_DESCRIPTION, cut */
    bool memsize;               /* rows have it */
    struct hs_malloc_meta malloc;
    struct hs_account account;  /* of the process, at the snapshot */
    struct hs_census census;    /* its threads and fibers, then */
    struct hs_inherited inherited;      /* heap pages of a forked process */
    struct hs_account account_at_start;         /* of the session; taken_ns 0: none, a block's session */
};

/* One living object that was sampled. */
struct hs_live_sample {
    uint64_t id;
    bool young;
    uint32_t thread;
    double weight;
    size_t row;                 /* of the profile: which it was added to, and which has all else */
};

/* They are in a profile where they were asked for. */
struct hs_live_samples {
    struct hs_live_sample *list;
    size_t count;
};

/*
 * Samples that agree on three numbers.  `kept`: what of a row is reached on the chain that ends with a node of `retainers`.
 * `pins`: free memory of heap pages that is held by objects which GC.compact must not move, by what pins them and by the line
 * that made them; its sum is of that memory.
 */
struct hs_part {
    uint32_t of;                /* kept: the row; pins: the node of the reference that pins */
    uint32_t node;              /* kept: that node; pins: the node of what has the reference */
    uint32_t frame;             /* pins: the innermost with a line, UINT32_MAX: there is none; kept: 0 */
    struct hs_estimate sum;
};

struct hs_profile {
    struct hs_profile_meta meta;
    unsigned reason;            /* why it was taken: a flag of profile/snapshot.h; 0: it was asked for */
    struct hs_live_samples samples;     /* list NULL: they were not asked for */
    struct hs_row *rows;
    size_t row_count;
    struct hs_node *nodes;
    uint32_t node_count;
    struct hs_frame *frames;
    uint32_t frame_count;
    struct hs_text *texts;      /* text 0 is empty */
    uint32_t text_count;
    struct hs_text_bytes *names, *native_names;         /* held: bytes of the sampler's texts, and of texts of native code */
    struct hs_mapping *mappings;        /* of native frames, by start */
    uint32_t mapping_count;
    bool asked_for_kept;        /* the profile has the field `kept`, with an answer or the reason why there is none */
    struct hs_retainers retainers;  /* what retains it: chains, where they were asked for; their texts are the profile's */
    struct hs_part *kept;       /* by row, then node */
    size_t kept_count;
    struct hs_part *pins;       /* the largest first */
    size_t pin_count;
};

/* A row, added to another one that is like it. */
void rb_hs_row_add(struct hs_row *sum, const struct hs_row *row);
/* The frame of the line that made an object: a method in C has the line of its caller, whose frame is wanted. UINT32_MAX: no
 * frame of the stack has a line. */
uint32_t rb_hs_frame_with_line(const struct hs_profile *profile, uint32_t node);
/* The frame that is a label in parentheses alone: a profile should have one of each. UINT32_MAX: it has none. */
uint32_t rb_hs_frame_of_label(const struct hs_profile *profile, const char *label);
void rb_hs_profile_free(struct hs_profile *profile);

#endif
