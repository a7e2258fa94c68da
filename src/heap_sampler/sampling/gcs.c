/* See sampling/gcs.h. */
#ifndef HEAP_SAMPLER_STANDALONE
#include "heap_sampler/mri.h"
#include "heap_sampler/store/page_table.h"
#endif
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/proc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* -- when GCs began ------------------------------------------------------------------- */

/* What stays has more than a step from each to the next but one: about twice as many as there are steps. */
_Static_assert(2 * HS_GC_TIMES_STEPS + 2 <= (HS_GC_TIMES - HS_GC_TIMES_NEWEST) / 2, "thinning makes room for many");

static void
thin(struct hs_gc_times *times)
{
    struct hs_gc_time *list = times->list;
    uint32_t older = times->count - HS_GC_TIMES_NEWEST, kept = 1;
    uint64_t step = (list[older - 1].ns - list[0].ns) / HS_GC_TIMES_STEPS;
    for (uint32_t i = 1; i < older; i++) {
        if (list[i + 1].ns - list[kept - 1].ns > step) list[kept++] = list[i];
    }
    memmove(&list[kept], &list[older], HS_GC_TIMES_NEWEST * sizeof(*list));
    times->count = kept + HS_GC_TIMES_NEWEST;
}

void
rb_hs_gc_times_add(struct hs_gc_times *times, const struct hs_gc_time *begun)
{
    if (times->count == HS_GC_TIMES) thin(times);
    times->list[times->count++] = *begun;
}

/* -- what a share of the run time pays for -------------------------------------------- */

static const double PPM = 1e6;
static const double HOUR_NS = 3600e9;

static uint64_t
until_paid(const struct hs_budget *budget, uint64_t now_ns, double share, double cost_ns)
{
    double elapsed_ns = (double)(now_ns - budget->since_ns), needed_ns = cost_ns / share;
    if (needed_ns <= elapsed_ns) return 0;
    return needed_ns - elapsed_ns < (double)INT64_MAX ? (uint64_t)(needed_ns - elapsed_ns) + 1 : INT64_MAX;
}

uint64_t
rb_hs_budget_wait(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns)
{
    return ppm ? until_paid(budget, now_ns, ppm / PPM, budget->gc_ns + budget->walk_ns + price_ns) : INT64_MAX;
}

bool
rb_hs_budget_gc_due_p(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns, uint64_t last_ns)
{
    double half = ppm / PPM / 2, paid_ns = (double)(now_ns - last_ns) * half;
    if (!ppm || 2 * paid_ns < price_ns) return false;
    if (paid_ns >= price_ns) return true;
    return !until_paid(budget, now_ns, half, budget->gc_ns + price_ns);
}

void
rb_hs_budget_forget(struct hs_budget *budget, uint64_t now_ns)
{
    double elapsed_ns = (double)(now_ns - budget->since_ns);
    if (elapsed_ns <= HOUR_NS) return;
    budget->since_ns = now_ns - (uint64_t)HOUR_NS;
    budget->gc_ns *= HOUR_NS / elapsed_ns;
    budget->walk_ns *= HOUR_NS / elapsed_ns;
}

#ifndef HEAP_SAMPLER_STANDALONE
/* -- the GCs of this process ---------------------------------------------------------- */

/* For each live slot, before one was measured: a major GC took 60 to 85 ns, sweeping included, at 28 thousand to 4 million slots.
 * A walk took 43 to 65 ns where objects refer to each other in the order of their addresses, and 230 to 480 ns in three programs
 * of the zoo with two million. One that takes more is paid for before the next. */
enum { GUESSED_NS_PER_SLOT = 100,
       GUESSED_WALK_NS_PER_SLOT = 300 };

/* A GC and its price. */
struct collection {
    bool major, forced;
    uint64_t live_slots;        /* when it began */
    uint64_t ns;                /* of a GC that goes on: CPU time of all GCs before it; of one that is over: its own */
};

/* Contract of all these: [read], [write]. */
static struct hs_gc_times times;        /* of the clock that does not go back */
static struct collection present;       /* the last that began */
static struct collection last_major;    /* that is over, sweeping too */
static struct collection last_walk;     /* that was forced; ns 0: there was none */
static struct hs_forced forced;         /* without what the present GC takes */
static struct hs_budget budget;         /* the same; since_ns: the clock that does not go back */
static uint64_t process_began_ns;       /* of that clock */
static uint64_t major_began_ns;         /* the last, or the process; of that clock */
static struct hs_marks marks;
static uint64_t majors_ended;           /* atomic figure */
static struct hs_gc_log gc_log;         /* of the clock that does not go back; its last entry is the present GC, when it began */
static struct rb_heap_sampler_gc_counts counts_before;  /* when the present GC began */
static uint64_t pause_began_ns, longest_pause_ns;       /* [gc]; the longest of the present GC is an atomic figure */
static bool forcing;                    /* [vm] */

uint64_t
rb_hs_slots(bool live)
{
    struct rb_heap_sampler_gc_counts counts;
    uint64_t slots = 0;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count; i++) slots += live ? counts.heap[i].live_slots : counts.heap[i].total_slots;
    return slots;
}

/* What the present GC has taken so far. */
static uint64_t
price_so_far(void)
{
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    return counts.timed ? counts.gc_ns - present.ns : present.live_slots * GUESSED_NS_PER_SLOT;
}

static uint64_t
forced_of_present(void)
{
    return present.forced ? price_so_far() : 0;
}

void
rb_heap_sampler_on_gc_enter(void)
{
    pause_began_ns = rb_hs_steady_ns();
}

void
rb_heap_sampler_on_gc_exit(void)
{
    uint64_t ns = rb_hs_steady_ns() - pause_began_ns;
    if (ns > longest_pause_ns) __atomic_store_n(&longest_pause_ns, ns, __ATOMIC_RELAXED);
}

/* What the present GC has taken and left by now; its sums are of the GCs before it. */
static void
complete_last(struct hs_gc_log *log, const struct rb_heap_sampler_gc_counts *counts)
{
    struct hs_gc_entry *last = &log->list[log->count - 1];
    uint64_t total_slots = rb_hs_slots(false);
    last->mark_ns = counts->mark_ns - counts_before.mark_ns;
    last->sweep_ns = counts->gc_ns - counts->mark_ns - (counts_before.gc_ns - counts_before.mark_ns);
    last->pause_ns = __atomic_load_n(&longest_pause_ns, __ATOMIC_RELAXED);
    last->pages = counts->pages;
    last->free_slots = counts->marking || counts->marked_slots > total_slots ? 0 : total_slots - counts->marked_slots;
    last->old_objects = counts->old_objects;
    if (!last->majors && counts->old_objects > counts_before.old_objects) last->promoted = counts->old_objects - counts_before.old_objects;
    rb_hs_gc_log_finish(log);
}

static void
log_gc(const struct rb_heap_sampler_gc_counts *counts, const struct hs_gc_time *begun, bool full_mark)
{
    struct hs_gc_entry entry = {.ns = begun->ns, .gc = begun->gc, .gcs = 1, .majors = full_mark, .allocated = counts->objects - counts_before.objects};
    entry.reason = forcing && full_mark ? HS_GC_SAMPLER : counts->reason;
    if (gc_log.count) complete_last(&gc_log, counts);
    rb_hs_gc_log_add(&gc_log, &entry);
    counts_before = *counts;
    __atomic_store_n(&longest_pause_ns, 0, __ATOMIC_RELAXED);
}

void
rb_hs_gc_log_copy(struct hs_gc_log *copy)
{
    HS_CONTRACT(tables);
    struct rb_heap_sampler_gc_counts counts;
    uint64_t ago = rb_hs_now_ns() - rb_hs_steady_ns();
    rb_heap_sampler_gc_counts(&counts);
    *copy = gc_log;
    if (copy->count) complete_last(copy, &counts);
    for (uint32_t i = 0; i < copy->count; i++) copy->list[i].ns += ago;
}

void
rb_heap_sampler_on_gc_start(bool full_mark)
{
    HS_CONTRACT(gc);
    HS_CONTRACT(free);
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    struct hs_gc_time begun = {rb_hs_steady_ns(), (uint32_t)counts.gc, (uint32_t)(counts.major + full_mark)};
    rb_hs_lock();
    rb_hs_gc_times_add(&times, &begun);
    log_gc(&counts, &begun, full_mark);
    uint64_t ns = forced_of_present();
    forced.gc_ns += ns;
    budget.gc_ns += (double)ns;
    if (present.major) last_major = (struct collection){.live_slots = present.live_slots, .ns = price_so_far()};
    if (full_mark) major_began_ns = begun.ns;
    present = (struct collection){full_mark, forcing && full_mark, rb_hs_slots(true), counts.gc_ns};
    forced.gcs += present.forced;
    rb_hs_unlock();
}

void
rb_hs_gc_times_copy(struct hs_gc_times *copy)
{
    HS_CONTRACT(tables);
    uint64_t ago = rb_hs_now_ns() - rb_hs_steady_ns();
    copy->count = times.count;
    for (uint32_t i = 0; i < times.count; i++) {
        copy->list[i] = times.list[i];
        copy->list[i].ns += ago;
    }
}

void
rb_hs_gc_mark_ended(bool full_mark)
{
    HS_CONTRACT(gc);
    HS_CONTRACT(write);
    marks.count++;
    *(full_mark ? &marks.major_ns : &marks.minor_ns) = rb_hs_now_ns();
    if (!full_mark) return;
    marks.major_gc = rb_gc_count();
    __atomic_add_fetch(&majors_ended, 1, __ATOMIC_RELAXED);
}

const struct hs_marks *
rb_hs_marks(void)
{
    return &marks;
}

uint64_t
rb_hs_majors_ended(void)
{
    return __atomic_load_n(&majors_ended, __ATOMIC_RELAXED);
}

/* -- free memory of heap pages --------------------------------------------------------- */

static struct hs_heap_use heap_use[HS_HEAPS_MAX];

const struct hs_heap_use *
rb_hs_heap_use(uint32_t heap)
{
    return &heap_use[heap];
}

static void
look_at_page(struct rb_heap_sampler_page *page, bool moved, bool pins)
{
    enum { BITS = sizeof(uintptr_t) * 8 };
    struct rb_heap_sampler_page_use use;
    rb_heap_sampler_gc_page_use(page->owner, moved, &use);
    page->free_share = use.live ? (double)use.free * (double)use.slot_size / use.live : 0;
    for (uint32_t i = 0; pins && i < page->count; i++) {
        unsigned slot = page->records[i].slot;
        page->records[i].pinned = (use.pinned_bits[slot / BITS] >> (slot % BITS)) & 1;
    }
}

/* Compaction leaves pins as they are: it has not moved what was not to be moved. */
void
rb_hs_occupancy_look(bool moved, bool full_mark)
{
    HS_CONTRACT(write);
    struct rb_heap_sampler_gc_counts counts;
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) look_at_page(rb_hs_pages.list[p], moved, full_mark);
    if (!rb_heap_sampler_drawing || !(moved || full_mark)) return;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count && i < HS_HEAPS_MAX; i++) {
        struct rb_heap_sampler_heap_use use;
        rb_heap_sampler_gc_heap_use(i, moved, &use);
        heap_use[i] = (struct hs_heap_use){true, use.pages, use.pinned_pages, use.live_slots, use.free_slots};
    }
}

/* -- forced work ------------------------------------------------------------------- */

void
rb_hs_forced_begin(void)
{
    rb_hs_lock();
    process_began_ns = major_began_ns = rb_hs_steady_ns();
    forced = (struct hs_forced){0};
    budget = (struct hs_budget){.since_ns = process_began_ns};
    memset(gc_log.causes, 0, sizeof(gc_log.causes));
    gc_log.inherited = gc_log.count;
    present.forced = false;
    rb_hs_unlock();
}

struct hs_forced
rb_hs_forced(void)
{
    HS_CONTRACT(tables);
    struct hs_forced now = forced;
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    if (now.last == HS_FORCED_NONE && counts.no_major) now.last = HS_FORCED_REFUSED;
    now.gc_ns += forced_of_present();
    now.of_ns = rb_hs_steady_ns() - process_began_ns;
    return now;
}

static struct hs_budget
budget_now(void)
{
    rb_hs_lock();
    struct hs_budget now = budget;
    now.gc_ns += (double)forced_of_present();
    rb_hs_unlock();
    return now;
}

/* It takes time for each slot, and there may be more of them by now. */
static double
price_of_next(const struct collection *last, unsigned guessed_ns_per_slot)
{
    rb_hs_lock();
    double slots = (double)rb_hs_slots(true), price = (double)last->ns, live_slots = (double)last->live_slots;
    rb_hs_unlock();
    if (!live_slots) return slots * guessed_ns_per_slot;
    return slots > live_slots ? price * slots / live_slots : price;
}

/* One that is demanded costs nothing in advance: it is paid for before the next. */
uint64_t
rb_hs_forced_wait(uint32_t ppm)
{
    struct hs_budget now = budget_now();
    return rb_hs_budget_wait(&now, rb_hs_steady_ns(), ppm, 0);
}

bool
rb_hs_forced_gc_due_p(uint32_t ppm)
{
    struct hs_budget now = budget_now();
    double price = price_of_next(&last_major, GUESSED_NS_PER_SLOT);
    rb_hs_lock();
    uint64_t last_ns = major_began_ns;
    rb_hs_unlock();
    return rb_hs_budget_gc_due_p(&now, rb_hs_steady_ns(), ppm, price, last_ns);
}

uint64_t
rb_hs_forced_walk_wait(uint32_t ppm)
{
    struct hs_budget now = budget_now();
    return rb_hs_budget_wait(&now, rb_hs_steady_ns(), ppm, price_of_next(&last_walk, GUESSED_WALK_NS_PER_SLOT));
}

static void
note_stop(uint64_t ns)
{
    rb_hs_lock();
    if (forced.stop_ns < ns) forced.stop_ns = ns;
    rb_hs_budget_forget(&budget, rb_hs_steady_ns());
    rb_hs_unlock();
}

bool
rb_hs_forced_gc(uint32_t step_slots)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    uint64_t began = rb_hs_steady_ns();
    bool begun = false;
    RB_VM_LOCK_ENTER();
    {
        forcing = true;
        begun = rb_heap_sampler_gc_start_major(step_slots);
        forcing = false;
    }
    RB_VM_LOCK_LEAVE();
    if (begun) note_stop(rb_hs_steady_ns() - began);
    return begun;
}

/* GC.compact protects each heap page once (mprotect(2)), and touches its memory again afterwards. On a virtual machine that
 * took 130 to 1,000 us a page, by its load, and was most of the stop. So it is measured each time, on memory of our own.
 * The constants were fitted to heaps of 0.08 to 1.9 million slots, of objects, strings, hashes and arrays, on a quiet
 * machine: the estimate was 0.8 to 1.6 times the stop of a fragmented heap, up to three times the stop of a dense one. */
enum { COMPACT_NS_PER_SLOT = 60,
       COMPACT_NS = 5000000,
       TRIED_PAGES = 5,
       PAGE_BYTES = 64 * 1024,
       TOUCH_BYTES = 4096 };
#define COMPACT_PER_TRIED_PAGE 1.5      /* for a page of the heap, of what a tried page took */

static int
compare_ns(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* The median time to take the access to a page's memory away, give it back, and touch all of it. */
static uint64_t
protection_ns(void)
{
    volatile char *memory = mmap(NULL, TRIED_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    for (size_t i = 0; i < TRIED_PAGES * PAGE_BYTES; i += TOUCH_BYTES) memory[i] = 1;
    uint64_t ns[TRIED_PAGES];
    for (size_t i = 0; i < TRIED_PAGES; i++) {
        volatile char *page = memory + i * PAGE_BYTES;
        uint64_t began = rb_hs_steady_ns();
        bool changed = mprotect((void *)page, PAGE_BYTES, PROT_NONE) == 0 && mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0;
        for (size_t j = 0; changed && j < PAGE_BYTES; j += TOUCH_BYTES) page[j] = 2;
        ns[i] = rb_hs_steady_ns() - began;
    }
    munmap((void *)memory, TRIED_PAGES * PAGE_BYTES);
    qsort(ns, TRIED_PAGES, sizeof(*ns), compare_ns);
    return ns[TRIED_PAGES / 2];
}

uint64_t
rb_hs_compact_estimate(void)
{
    size_t pages;
    RB_VM_LOCK_ENTER();
    pages = rb_heap_sampler_gc_page_count();
    RB_VM_LOCK_LEAVE();
    double ns = (double)(pages * protection_ns()) * COMPACT_PER_TRIED_PAGE + (double)(rb_hs_slots(false) * COMPACT_NS_PER_SLOT) + COMPACT_NS;
    /* At load 11, on two processors, a stop took 12 times the estimate that did not count it. */
    return (uint64_t)(ns * rb_hs_demand_for_processors());
}

bool
rb_hs_forced_compact(struct hs_compaction *compaction)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    uint64_t began = rb_hs_steady_ns();
    struct rb_heap_sampler_gc_moves moves;
    bool done = false;
    RB_VM_LOCK_ENTER();
    {
        forcing = true;
        done = rb_heap_sampler_gc_compact(&moves);
        forcing = false;
    }
    RB_VM_LOCK_LEAVE();
    compaction->considered = moves.considered;
    compaction->moved = moves.moved;
    compaction->ns = rb_hs_steady_ns() - began;
    if (done) note_stop(compaction->ns);
    return done;
}

void
rb_hs_forced_gc_step(uint32_t step_slots)
{
    HS_CONTRACT(gvl);
    HS_CONTRACT(free);
    uint64_t began = rb_hs_steady_ns();
    rb_heap_sampler_gc_step_major(step_slots);
    note_stop(rb_hs_steady_ns() - began);
}

void
rb_hs_forced_walk(uint64_t ns, uint64_t stop_ns)
{
    rb_hs_lock();
    last_walk = (struct collection){.live_slots = rb_hs_slots(true), .ns = ns + stop_ns};
    forced.walks++;
    forced.walk_ns += ns + stop_ns;
    budget.walk_ns += (double)(ns + stop_ns);
    rb_hs_unlock();
    note_stop(stop_ns);
}

void
rb_hs_forced_note(enum hs_forced_last last)
{
    rb_hs_lock();
    forced.last = last;
    rb_hs_unlock();
}
#endif
