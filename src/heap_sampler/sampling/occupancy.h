#ifndef HEAP_SAMPLER_SAMPLING_OCCUPANCY_H
#define HEAP_SAMPLER_SAMPLING_OCCUPANCY_H
/*
 * Who holds free memory in heap pages.
 *
 * A heap page can be given back only when nothing lives on it.  So its free
 * slots are charged to the objects alive on it, in equal parts:
 *
 *     page of 8 slots     A . . . B . . .        6 free slots: 3 for A, 3 for B
 *
 * Each object alive is a sample with its own chance p = 1/w, so w * free/alive
 * of the samples of a line is an unbiased estimate of what the line holds, and
 * its variance is that of any such sum: w(w-1)(free/alive)^2 for each sample.
 *
 * Alive is what the last mark found alive, and free is all else on the page:
 * slots that were free then, and what that mark found dead.  What is born in
 * them since is young.  So the figures do not go up and down with every sweep.
 *
 * What compaction must not move is known of objects that a full mark has met.
 */
#include <stdbool.h>
#include <stdint.h>

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
 * in its heap. [any] */
static inline uint64_t
hs_heap_spare_pages(const struct hs_heap_use *use)
{
    uint64_t slots = use->live_slots + use->free_slots;
    if (!slots) return 0;
    /* Pages of a heap differ by a slot at most. */
    uint64_t needed = (use->live_slots * use->pages + slots - 1) / slots;
    if (needed < use->pinned_pages) needed = use->pinned_pages;
    return needed < use->pages ? use->pages - needed : 0;
}

/* Marking is complete, and records of the dead are gone. [write] [gc] */
void rb_hs_occupancy_after_mark(bool full_mark);
/* Objects have moved. [write] [gc] */
void rb_hs_occupancy_after_move(void);

/* Of a heap. [read] */
const struct hs_heap_use *rb_hs_heap_use(uint32_t heap);

#endif
