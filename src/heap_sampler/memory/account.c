/*
 * The survey of the mappings (smaps.c), divided by what Ruby's GC and malloc(3) say about themselves.
 *
 * The rule: the kernel has the figure of what is resident, and each byte of
 * that belongs to one part.  What malloc says about itself only divides what
 * the kernel found.  So the sum is RSS by construction, and nothing virtual is
 * in it.  The account needs no GVL and runs on any thread.
 *
 *   heap pages    known by address (heap_page_map.c).  Live slots come from the heaps' counters; the rest of the
 *                 pages is free slots and headers
 *   jemalloc      its mappings are MAP_NORESERVE (`nr` in VmFlags).  No other mapping of ours is, and the flag keeps
 *                 the kernel from merging them with others.  Where the system does not overcommit there are none; then
 *                 all memory without another explanation is malloc's, up to what jemalloc says it holds.  Live is
 *                 stats.allocated less the caches of threads; waste is what is left: holes in slabs, free pages,
 *                 caches
 *   glibc         mallinfo2.  Its free memory may be untouched, or trimmed; so only what has mappings of its own is
 *                 taken to be untouched
 *   other malloc  says nothing: its memory is unattributed, and malloc's fields are not known
 *   stacks        VM stacks and signal stacks of threads are malloc's blocks, known by address (threads.h).  Their
 *                 resident pages are moved to `stacks`, and their size is subtracted from what malloc says about
 *                 itself
 *
 * Memory that was never touched is allocated, and not resident; freed, it is free, and not resident.  So what
 * jemalloc calls resident and the kernel does not is subtracted: first from jemalloc's page tree, then from large
 * blocks (16 KiB and more: small ones share pages) and from dirty and muzzy pages.  Where malloc is sampled, the
 * kernel is asked about the sampled blocks: what these lack is what live memory lacks, and the rest is subtracted
 * from free pages.  Without samples both lose in proportion, which is wrong where nearly all that is missing is of
 * one kind.  jemalloc 5.3.1 maps a large block with up to 2 MiB behind it, kept as dirty pages that nothing has
 * touched.  Of 100 strings of 10 MiB, written in full, an account without samples has 836 MiB as live and 167 as
 * waste; with samples it has 1,002 and 1.  With glibc, and without MAP_NORESERVE, memory that a C library maps for
 * itself counts as live malloc memory.  At most as many bytes of it count as malloc's own memory has untouched.
 *
 * What sampling adds to jemalloc's figures is subtracted (malloc_draws.c), and the sampler's own memory.
 *
 * The kernel and other threads go on between the reads: parts may differ by what they did, the sum stays.  Memory that
 * is swapped out is in no part.  While YJIT has its code writable, that code is unattributed.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"

#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define HAVE_MALLINFO2 1
#endif
#endif

/* -- malloc(3) -------------------------------------------------------------------- */

/* The figures of malloc(3); virtual bytes. */
struct malloc_figures {
    bool known;
    uint64_t live;
    uint64_t held;              /* live, waste and metadata */
    uint64_t metadata;
    uint64_t sparse_metadata;   /* of `metadata`, and */
    uint64_t sparse_live;       /* of `live`, and */
    uint64_t sparse_free;       /* of what is free: no more of them can be untouched */
    bool untouched_known;
    uint64_t untouched_live;    /* of `live`, if known */
};

static uint64_t
statistic(const char *name)
{
    size_t value = 0;
    return rb_hs_mallctl_read(name, &value, sizeof(value)) ? value : 0;
}

/* 4096 is MALLCTL_ARENAS_ALL: jemalloc.h may not be there. */
#define ALL_ARENAS(name) statistic("stats.arenas.4096." name)

/* jemalloc finds a page's owner in a tree of two levels.  The numbers of pages in 48 bits of address are halved between
 * them, and a page has 8 bytes in a leaf: with pages of 4 KiB leaves are 2 MiB for each GiB of addresses, with 64 KiB they
 * are 512 KiB for 4 GiB.  Hardly any of a leaf is touched, but all of it counts as resident.
 * A small process has two or three: where it is loaded decides. */
static uint64_t
sparse_metadata(const struct hs_account *account, uint64_t page)
{
    if (!page) return 0;
    uint64_t pages = UINT64_C(1) << ((48 - hs_lg(page) + 1) / 2), leaf = 8 * pages;
    uint64_t leaves = 3 + (account->je_resident + account->je_retained) / (page * pages);
    return hs_smaller(account->je_metadata / leaf, leaves) * leaf;
}

static struct malloc_figures
ask_jemalloc(struct hs_account *account)
{
    uint64_t epoch = 1, page = statistic("arenas.page");
    rb_hs_mallctl_write("epoch", &epoch, sizeof(epoch));
    account->jemalloc = true;
    account->je_allocated = statistic("stats.allocated");
    account->je_active = statistic("stats.active");
    account->je_resident = statistic("stats.resident");
    account->je_retained = statistic("stats.retained");
    account->je_metadata = statistic("stats.metadata");
    account->je_dirty = ALL_ARENAS("pdirty") * page;
    /* What threads keep in their caches counts as allocated, but is not live. */
    uint64_t cached = ALL_ARENAS("tcache_bytes");
    uint64_t live = account->je_allocated - hs_smaller(cached, account->je_allocated), muzzy = ALL_ARENAS("pmuzzy") * page;
    /* Where its pages are larger than the kernel's, what is free between small blocks may be whole pages of the kernel. */
    bool larger = page > (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t between = larger ? account->je_active - hs_smaller(account->je_allocated, account->je_active) : 0;
    return (struct malloc_figures){
        .known = account->je_allocated > 0,
        .live = live,
        .held = account->je_resident + muzzy,
        .metadata = account->je_metadata,
        .sparse_metadata = sparse_metadata(account, page),
        .sparse_live = hs_smaller(ALL_ARENAS("large.allocated"), live),
        .sparse_free = account->je_dirty + muzzy + between,
    };
}

static struct malloc_figures
ask_libc(void)
{
#ifdef HAVE_MALLINFO2
    struct mallinfo2 info = mallinfo2();
    uint64_t held = (uint64_t)info.arena + info.hblkhd;
    /* Free memory may be untouched, or given back, here too; so only large
     * blocks, which have mappings of their own, are taken to be untouched.
     * Nothing held: another malloc has taken the place of glibc's. */
    return (struct malloc_figures){
        .known = held > 0,
        .live = (uint64_t)info.uordblks + info.hblkhd,
        .held = held,
        .sparse_live = info.hblkhd,
    };
#else
    return (struct malloc_figures){.known = false};
#endif
}

static struct malloc_figures
ask_malloc(struct hs_account *account)
{
    return rb_hs_allocator()->jemalloc ? ask_jemalloc(account) : ask_libc();
}

/* Negative: adds. */
static void
take_off(uint64_t *figure, int64_t bytes)
{
    *figure -= bytes < 0 ? (uint64_t)bytes : hs_smaller((uint64_t)bytes, *figure);
}

uint64_t
rb_hs_malloc_allocated(void)
{
    struct hs_account_excess excess;
    struct hs_account unused;
    rb_hs_malloc_excess(&excess);
    struct malloc_figures figures = ask_malloc(&unused);
    if (!figures.known) return 0;
    take_off(&figures.live, excess.allocated + (int64_t)rb_hs_memory_total());
    return figures.live;
}

void
rb_hs_malloc_look(struct hs_account_excess *excess)
{
    HS_CONTRACT(free);
    struct hs_malloc_copy copy;
    double untouched = 0;
    rb_hs_malloc_excess(excess);
    rb_hs_lock();
    excess->untouched_known = rb_hs_malloc_session(HS_MAIN).on && rb_hs_malloc_copy(&copy, HS_MAIN);
    rb_hs_unlock();
    if (!excess->untouched_known) return;
    struct hs_residency residency = rb_hs_residency_open();
    for (uint32_t i = 0; i < copy.block_count; i++) {
        const struct hs_malloc_block_copy *block = &copy.blocks[i];
        double size = (double)block->size;
        untouched += rb_hs_weight(size, (double)block->interval) * size * (1 - rb_hs_resident_part(&residency, block->address, block->size));
    }
    rb_hs_residency_close(&residency);
    rb_hs_malloc_copy_free(&copy);
    excess->untouched = (uint64_t)untouched;
}

/* How much of `untouched` bytes is live.  Live blocks that were sampled have been looked at; without them the best
 * guess is that as large a part of them was never touched as of what is free. */
static uint64_t
untouched_live(const struct malloc_figures *figures, uint64_t untouched)
{
    uint64_t sparse = figures->sparse_live + figures->sparse_free;
    if (!sparse) return 0;
    if (!figures->untouched_known) return (uint64_t)((double)untouched * ((double)figures->sparse_live / (double)sparse));
    uint64_t live = hs_smaller(untouched, hs_smaller(figures->untouched_live, figures->sparse_live));
    return untouched - live > figures->sparse_free ? untouched - figures->sparse_free : live;
}

/* Divide what is `resident` of memory that may be malloc's. */
static void
divide_malloc(struct hs_account *account, const struct malloc_figures *figures, uint64_t resident)
{
    uint64_t all = hs_smaller(resident, figures->held), untouched = figures->held - all;
    uint64_t metadata = hs_smaller(untouched, figures->sparse_metadata);
    uint64_t sparse = figures->sparse_live + figures->sparse_free, rest = hs_smaller(untouched - metadata, sparse);
    uint64_t live = untouched_live(figures, rest);
    account->malloc_known = true;
    account->malloc_metadata = hs_smaller(figures->metadata - metadata, all);
    account->malloc_live = hs_smaller(figures->live - live, all - account->malloc_metadata);
    account->malloc_waste = all - account->malloc_metadata - account->malloc_live;
}

/* -- all of it ----------------------------------------------------------------------- */

static void
count_slots(struct hs_account *account, const struct hs_survey *survey)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t live = 0, total = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) {
        live += counts.heap[i].live_slots * counts.heap[i].slot_size;
        total += counts.heap[i].total_slots * counts.heap[i].slot_size;
    }
    uint64_t pages = survey ? survey->heap : total;
    account->slots_live = hs_smaller(live, pages);
    account->slots_free = pages - account->slots_live;
}

static void
count_alive(struct hs_account *account, const struct hs_census *census)
{
    account->threads = census->of[HS_THREADS].count;
    account->fibers = census->of[HS_FIBERS].count;
    account->stacks_known = census->stacks_known;
    account->thread_stacks = census->of[HS_THREADS].stacks;
    account->fiber_stacks = census->of[HS_FIBERS].stacks;
}

/* The figures of malloc(3), less what is not the program's data. */
static void
leave_out(struct malloc_figures *figures, const struct hs_account_excess *excess, const struct hs_census *census)
{
    uint64_t stacks = census->stacks_known ? census->malloced : 0;
    take_off(&figures->live, (int64_t)stacks + excess->allocated);
    take_off(&figures->held, (int64_t)stacks + excess->resident);
    take_off(&figures->sparse_live, (int64_t)stacks + (excess->allocated > 0 ? excess->allocated : 0));
    figures->untouched_known = excess->untouched_known;
    figures->untouched_live = excess->untouched;
}

/* Divide the rest of the survey among malloc, the stacks that malloc gave, and what is not attributed. */
static void
divide_rest(struct hs_account *account, const struct hs_survey *survey, const struct malloc_figures *figures, uint64_t stacks)
{
    /* jemalloc maps with MAP_NORESERVE, unless the system does not overcommit. */
    uint64_t rest = survey->other + survey->noreserve;
    uint64_t mine = account->jemalloc && survey->noreserve ? survey->noreserve : rest;
    stacks = hs_smaller(stacks, mine);
    account->stacks = survey->stacks + stacks;
    if (figures->known) divide_malloc(account, figures, mine - stacks);
    account->unattributed = rest - stacks - account->malloc_live - account->malloc_waste - account->malloc_metadata;
}

static void
subtract_sampler(struct hs_account *account, bool surveyed)
{
    uint64_t own = rb_hs_memory_total();
    uint64_t *holder = account->malloc_known ? &account->malloc_live : &account->unattributed;
    account->sampler = surveyed ? hs_smaller(own, *holder) : own;
    take_off(holder, (int64_t)account->sampler);
}

void
rb_hs_account_take(struct hs_account *account, const struct hs_account_excess *excess, const struct hs_census *census,
                   bool may_hold_up)
{
    HS_CONTRACT(free);
    uint64_t began = rb_hs_steady_ns();
    struct hs_account_excess looked_for;
    struct hs_census counted;
    struct hs_survey survey;
    bool surveyed = rb_hs_survey_take(&survey, may_hold_up);
    if (!excess) {
        rb_hs_malloc_look(&looked_for);
        excess = &looked_for;
    }
    if (!census) {
        rb_hs_census_take(&counted, false);
        census = &counted;
    }

    *account = (struct hs_account){.taken_ns = rb_hs_now_ns()};
    memcpy(account->allocator, rb_hs_allocator()->name, sizeof(account->allocator));
    count_slots(account, surveyed ? &survey : NULL);
    count_alive(account, census);

    struct malloc_figures figures = ask_malloc(account);
    leave_out(&figures, excess, census);
    if (surveyed) {
        account->rss = survey.rss;
        account->pss = survey.pss;
        account->code_and_files = survey.files;
        account->jit = survey.jit;
        divide_rest(account, &survey, &figures, census->malloced_resident);
    }
    else if (figures.known) {
        divide_malloc(account, &figures, UINT64_MAX);
    }
    subtract_sampler(account, surveyed);
    rb_hs_memory_limit_read("", 50, &account->limit);
    account->cost_ns = rb_hs_steady_ns() - began;
}

static struct hs_account at_start;

void
rb_hs_account_begin(const struct hs_account *account)
{
    struct hs_account taken;
    if (!account) rb_hs_account_take(&taken, NULL, NULL, true);
    rb_hs_lock();
    at_start = account ? *account : taken;
    rb_hs_unlock();
}

const struct hs_account *
rb_hs_account_at_start(void)
{
    HS_CONTRACT(tables);
    return &at_start;
}
