#ifndef HEAP_SAMPLER_SLOTS_PAGE_TABLE_H
#define HEAP_SAMPLER_SLOTS_PAGE_TABLE_H
/*
 * The samples of a heap page: a packed array of records, found by slot.
 *
 * A heap page has one pointer to its table, which is NULL until the page holds
 * a sample and again once it holds none.  All tables stand in one list.  This
 * file knows no heap types: a page is the address of its body, a slot the
 * index of its bit in the page's mark bits.
 *
 * [write]; rb_hs_page_find: [read].
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/must.h"
#include "heap_sampler/estimate/epochs.h"

struct hs_record {
    uint16_t slot : 14;         /* index of the object's mark bit */
    bool young : 1;             /* no mark has ended since its birth */
    bool pinned : 1;            /* the last major GC that looked found that compaction must not move it */
    hs_session_set sessions;    /* who keeps this sample */
    uint32_t site;              /* stack, class and heap it was born in */
    uint32_t epoch;             /* the intervals that its weights come from */
    uint32_t birth_gc;          /* GC count at birth */
    float longest;              /* interval at which it is a sample: estimate/epochs.h */
    uint32_t thread;            /* serial of the thread that allocated it */
    uint64_t id;                /* its serial number in this process */
};

struct rb_heap_sampler_page {
    struct rb_heap_sampler_page **owner;        /* the heap page's pointer to this */
    uintptr_t body;
    const uintptr_t *mark_bits;
    uint32_t list_index;
    uint32_t count, capacity;
    struct hs_record *records;
    double free_share;          /* free bytes for each object that the last mark found alive here */
    uint16_t *by_slot;          /* position + 1 by slot; NULL while the array is short */
};

/* All pages that hold samples. */
struct hs_pages {
    struct rb_heap_sampler_page **list;
    uint32_t count, capacity;
    uint64_t records;
};

extern struct hs_pages rb_hs_pages;

/* The record of a slot, or NULL. `page` may be NULL. */
struct hs_record *rb_hs_page_find(const struct rb_heap_sampler_page *page, unsigned slot);

/* Room for one more record on a page, whose table is made if it has none.
 * Returns NULL when there is no memory.  The record's slot is set, no other
 * field; a record that the slot already has is overwritten. */
struct hs_record *rb_hs_page_add(struct rb_heap_sampler_page **owner, uintptr_t body,
                                 const uintptr_t *mark_bits, unsigned slot);

/* Forget the record at this position; the last one takes its place. */
void rb_hs_page_drop(struct rb_heap_sampler_page *page, uint32_t position);

/* After dropping: free the page's table if it holds nothing any more, or most of
 * its room if it holds little. */
void rb_hs_page_release(struct rb_heap_sampler_page *page);

static inline bool
hs_page_marked_p(const struct rb_heap_sampler_page *page, unsigned slot)
{
    enum { BITS = sizeof(uintptr_t) * 8 };
    return (page->mark_bits[slot / BITS] >> (slot % BITS)) & 1;
}

#if HS_CHECKING
/* The tables are what they must be. [read] */
void rb_hs_pages_check(void);
#endif

#endif
