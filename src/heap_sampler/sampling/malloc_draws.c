/*
 * At which interval jemalloc draws, and what that adds to its figures.
 *
 * What this relies on in jemalloc 5.3.1: a byte is drawn with probability
 * 2^-lg_prof_sample, each thread's next draw ahead of time.  After a change of
 * lg_prof_sample a thread's next sample may still be one of the old interval.  Ours
 * remembers at which interval it was drawn (patches/jemalloc/draw-intervals.patch), and
 * the sample is weighted by that: a session that asks for a shorter interval now keeps
 * the block at the longer one.  After a change each thread draws anew at its next malloc
 * or free.  So a thread that idled does not allocate much on a draw at a long interval.
 * A thread, and a forked child, has a seed of its own (thread-seeds.patch).
 *
 * And, in none of its manuals: the three hooks of malloc_hooks.c, with these
 * arguments, called without a lock; a block of S bytes is drawn with probability
 * 1 - exp(-S/2^lg_prof_sample); prof.reset takes another lg_prof_sample, and
 * leaves the hooks and the sampled blocks as they are; a sampled small block has
 * an extent of its own, of whole pages, which stats.allocated does not count;
 * realloc reports the new block before the free of the old one.
 */
#include "heap_sampler/sampling/malloc_hooks.h"
#include "heap_sampler/store/malloc_table.h"

#include <stdlib.h>
#include <unistd.h>

static bool active;             /* jemalloc's profiler draws; atomic flag, written with [vm] */
static uint64_t drawn_interval; /* 2^lg_prof_sample bytes: of draws from now on; atomic figure, written with [vm] */
static struct hs_malloc_counts counters;        /* atomic figures */

bool
rb_hs_malloc_drawing(void)
{
    return __atomic_load_n(&active, __ATOMIC_RELAXED);
}

static uint64_t
count(uint64_t *counter)
{
    return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

uint64_t
rb_hs_malloc_count_sample(enum hs_malloc_kind kind)
{
    if (kind == HS_MALLOC_AT_GC) count(&counters.gc);
    if (kind == HS_MALLOC_AT_NO_GVL) count(&counters.no_gvl);
    return count(&counters.samples);
}

/* -- the interval ------------------------------------------------------------------- */

/* jemalloc draws at the largest power of two up to the smallest interval that a
 * session asks for; the rest is done by what each session keeps.  prof.reset
 * draws anew for this thread, so that a block of Ruby that is profiled is
 * sampled from its first byte on. */
void
rb_hs_malloc_adjust_draws(void)
{
    rb_hs_malloc_lock();
    uint64_t interval = rb_hs_malloc_store.interval;
    rb_hs_malloc_unlock();
    bool wanted = interval != 0;
    size_t lg = hs_lg(interval);
    if (wanted && (!active || UINT64_C(1) << lg != drawn_interval) && rb_hs_mallctl_write("prof.reset", &lg, sizeof(lg))) {
        __atomic_store_n(&drawn_interval, UINT64_C(1) << lg, __ATOMIC_RELAXED);
    }
    if (active != wanted && rb_hs_mallctl_write("prof.active", &wanted, sizeof(wanted))) __atomic_store_n(&active, wanted, __ATOMIC_RELAXED);
}

bool
rb_hs_malloc_retune(int session, uint64_t interval)
{
    rb_hs_malloc_lock();
    bool ok = rb_hs_malloc_store.session[session].interval == interval || rb_hs_store_retune(&rb_hs_malloc_store, session, interval);
    rb_hs_malloc_unlock();
    if (ok) rb_hs_malloc_adjust_draws();
    return ok;
}

/* -- what sampling adds to jemalloc's figures --------------------------------------- */

/* jemalloc gives a small block that it samples an extent of its own, and perhaps one page more.  No more of it is touched than
 * the kernel's pages of the block (at 512 KiB about 1% of the memory of small blocks).  Since 5.3.1 the extent has as many of
 * jemalloc's pages as the block needs; before, it has the smallest large size.  An extent of that size counts as allocated,
 * a smaller one does not.  On arm64 jemalloc's pages are 64 KiB (tool/jemalloc), and the kernel's may be smaller. */
static struct {
    uint64_t size, page, padding, kernel_page;
    bool always;
} large;
static struct {
    int64_t allocated, resident, touched;
} excess;         /* atomic figures */

/* Is it older than 5.3.1? */
static bool
older_p(void)
{
    const char *version = "";
    unsigned long number = 0;
    rb_hs_mallctl_read("version", &version, sizeof(version));
    for (int part = 0; part < 3; part++) {
        char *end;
        number = number * 100 + strtoul(version, &end, 10);
        version = *end == '.' ? end + 1 : end;
    }
    return number < 50301;
}

bool
rb_hs_malloc_open_draws(void)
{
    size_t lg, size = 0, page = 4096;
    bool padded = false;
    if (!rb_hs_mallctl_read("prof.lg_sample", &lg, sizeof(lg))) return false;
    rb_hs_mallctl_read("arenas.lextent.0.size", &size, sizeof(size));
    rb_hs_mallctl_read("opt.cache_oblivious", &padded, sizeof(padded));
    rb_hs_mallctl_read("arenas.page", &page, sizeof(page));
    large.size = size;
    large.page = page;
    large.padding = padded ? page : 0;
    large.kernel_page = (uint64_t)sysconf(_SC_PAGESIZE);
    large.always = older_p();
    rb_hs_mallctl_read("prof.active", &active, sizeof(active));
    drawn_interval = UINT64_C(1) << lg;
    return true;
}

static uint64_t
whole_pages(uint64_t size, uint64_t page)
{
    return (size + page - 1) / page * page;
}

void
rb_hs_malloc_note_excess(uint64_t size, int sign)
{
    if (size >= large.size) return;
    uint64_t extent = large.always ? large.size : whole_pages(size, large.page), touched = whole_pages(size, large.kernel_page);
    int64_t allocated = extent < large.size ? 0 : (int64_t)extent;
    __atomic_fetch_add(&excess.allocated, sign * (allocated - (int64_t)size), __ATOMIC_RELAXED);
    __atomic_fetch_add(&excess.resident, sign * (int64_t)(extent - touched + large.padding), __ATOMIC_RELAXED);
    __atomic_fetch_add(&excess.touched, sign * (int64_t)(touched - size), __ATOMIC_RELAXED);
}

void
rb_hs_malloc_excess(struct hs_account_excess *of)
{
    *of = (struct hs_account_excess){.allocated = __atomic_load_n(&excess.allocated, __ATOMIC_RELAXED),
                                     .resident = __atomic_load_n(&excess.resident, __ATOMIC_RELAXED)};
}

void
rb_hs_malloc_counts(struct hs_malloc_counts *counts)
{
    counts->samples = __atomic_load_n(&counters.samples, __ATOMIC_RELAXED);
    counts->gc = __atomic_load_n(&counters.gc, __ATOMIC_RELAXED);
    counts->no_gvl = __atomic_load_n(&counters.no_gvl, __ATOMIC_RELAXED);
    counts->drawn_interval = __atomic_load_n(&drawn_interval, __ATOMIC_RELAXED);
    /* What was freed may have been sampled before our hooks were there. */
    int64_t touched = __atomic_load_n(&excess.touched, __ATOMIC_RELAXED);
    counts->pages_bytes = touched > 0 ? (uint64_t)touched : 0;
}
