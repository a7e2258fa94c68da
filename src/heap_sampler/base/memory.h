#ifndef HEAP_SAMPLER_BASE_MEMORY_H
#define HEAP_SAMPLER_BASE_MEMORY_H
/*
 * The sampler's own memory.
 *
 * Everything that the sampler keeps comes from here, so that it can be
 * counted, capped and made to fail in a test.  It never comes from xmalloc,
 * which may start a GC, and never raises: NULL means that there was none.
 *
 * The bound: at no moment is more than HS_MEMORY_MAX used, whatever the
 * program does: with snapshots and profiles that Ruby code holds, and with both
 * blocks of one that is being moved.  Each kind of use has its share of it, so
 * that none can starve another.  Long before the end of a share its owner does
 * with less, so that sums stay unbiased and only detail is lost:
 *
 *   16 MiB    records, sites,    samples are thinned at 6 MiB of records, or when live sites fill their table;
 *             totals             at 2^15 sites those without a live sample are folded
 *   20 MiB    stacks, names      at 2^17 nodes stacks are folded.  Near 2^16 frames, 2^16 texts, 4 MiB of texts or
 *                                2^15 classes, names that nothing refers to are freed; where that is not enough, new
 *                                ones are `(evicted)` or `(other classes)`.  Codes, a cache, are forgotten at 2^15
 *   6.5 MiB   malloc's samples   at 24,576 blocks malloc's interval doubles; at 4,608 sites those without a live block
 *                                are folded; beyond 16,384 raw frames a stack is cut.  The table of blocks has a part
 *                                of its own, so no sample is lost
 *   21.5 MiB  snapshots          samples are thinned where a snapshot of all, encoded, would not fit.  One that does
 *                                not fit next to profiles that are held is refused: NoMemoryError, or a warning
 *
 * max-samples=none lifts the bound; the limits are 2^18 then (2^17 sites of malloc, 2^16 classes).  Not counted is
 * what malloc adds by rounding up, and what jemalloc needs for its samples: a page for each small block.
 *
 * An allocation that fails leaves a gap in what is known: one warning, and stat[:failed_allocations].
 *
 * [malloc]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_MEMORY_MAX = 64 << 20 };

/* `what` it is for: the accounts that `stat` prints. */
enum hs_memory_use {
    HS_MEM_RECORDS,             /* samples, by heap page */
    HS_MEM_STACKS,              /* frames, prefix tree, whole-stack map */
    HS_MEM_TOTALS,              /* sites and their totals */
    HS_MEM_NAMES,               /* texts, classes, code entries */
    HS_MEM_MALLOC,              /* malloc's samples and their stacks */
    HS_MEM_SNAPSHOTS,           /* profiles and what encodes them */
    HS_MEM_USES
};

void *rb_hs_malloc(enum hs_memory_use use, size_t size);
void *rb_hs_calloc(enum hs_memory_use use, size_t count, size_t size);
/* Like realloc(3): on failure the old block stays as it was. */
void *rb_hs_realloc(enum hs_memory_use use, void *ptr, size_t size);
void rb_hs_free(enum hs_memory_use use, void *ptr);

/* Bytes held now for one use, or for all of them. */
size_t rb_hs_memory_bytes(enum hs_memory_use use);
size_t rb_hs_memory_total(void);
/* Requests for this use that found no memory or that the bound refused, ever. */
uint64_t rb_hs_memory_failures(enum hs_memory_use use);
/* The most that was ever held at once, a block that is being moved twice. */
size_t rb_hs_memory_peak(void);

/* Whether the bound holds, which it does at first. */
void rb_hs_memory_bound(bool bound);
bool rb_hs_memory_bound_p(void);
/* What all uses that share with this one may hold together. */
size_t rb_hs_memory_share(enum hs_memory_use use);

/* This thread is inside malloc(3) on behalf of one of the above: what it allocates there is no sample, and the hook inside malloc
 * may allocate while it holds its mutex. volatile: the hooks read it inside malloc(), which the compiler does not know. A child
 * whose frees are not counted, and that must not wait for our mutex, sets it for good. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) volatile bool rb_hs_memory_inside;

/* What one of our threads holds for HS_MEM_SNAPSHOTS. */
struct hs_memory_part {
    size_t bytes;               /* atomic figure */
    size_t most;                /* it gets no more than that; 0: what the share has */
};
/* What this thread allocates for HS_MEM_SNAPSHOTS is counted here as well; NULL: nowhere else. */
extern _Thread_local struct hs_memory_part *rb_hs_memory_part;
/* Subtracts so many bytes of a use: in a child of fork, where a thread is gone and its blocks are never freed. */
void rb_hs_memory_give_back(enum hs_memory_use use, size_t bytes);

#endif
