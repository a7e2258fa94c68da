#ifndef HEAP_SAMPLER_STORE_PAGE_TABLE_H
#define HEAP_SAMPLER_STORE_PAGE_TABLE_H
/*
 * The store of slots, and its index: the samples of a heap page are a packed
 * array of records, found by slot.
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
#include "heap_sampler/store/store.h"

struct rb_heap_sampler_page {
    struct rb_heap_sampler_page **owner;        /* the heap page's pointer to this */
    uintptr_t body;
    const uintptr_t *mark_bits;
    uint32_t list_index;
    uint32_t count, capacity;
    struct hs_record *records;
    double free_share;          /* free bytes for each object that the last mark found alive here */
};

/* All pages that hold samples. */
struct hs_pages {
    struct rb_heap_sampler_page **list;
    uint32_t count, capacity;
    uint64_t records;
    uint64_t taken;             /* samples, ever */
    uint64_t moves, dropped_moves;      /* records that followed an object, ever, or found no memory for that */
};

extern struct hs_pages rb_hs_pages;

/* The record of a slot, or NULL. `page` may be NULL. */
struct hs_record *rb_hs_page_find(const struct rb_heap_sampler_page *page, unsigned slot);

/* Room for one more record on a page, which gets a table if it has none; only the record's slot is set. The slot has no
 * record yet: what was there before was found to be garbage. NULL: no memory. */
struct hs_record *rb_hs_page_add(struct rb_heap_sampler_page **owner, uintptr_t body,
                                 const uintptr_t *mark_bits, unsigned slot);

/* Take away the record at this position; the last one takes its place. And for good: nothing counts it any more. */
void rb_hs_page_drop(struct rb_heap_sampler_page *page, uint32_t position);
void rb_hs_page_forget(struct rb_heap_sampler_page *page, uint32_t position);
/* After that: free the page's table if it is empty, or most of its room if it holds little. */
void rb_hs_page_release(struct rb_heap_sampler_page *page);

static inline bool
hs_page_marked_p(const struct rb_heap_sampler_page *page, unsigned slot)
{
    enum { BITS = sizeof(uintptr_t) * 8 };
    return (page->mark_bits[slot / BITS] >> (slot % BITS)) & 1;
}

extern struct hs_store rb_hs_slot_store;

/* What a record and a site take at most in a snapshot, with the rows that they
 * become, bytes (asserted in profile/slot_rows.c). */
enum { HS_SNAPSHOT_RECORD = 136 + HS_SNAPSHOT_ROW,
       HS_SNAPSHOT_SITE = 92 + HS_SNAPSHOT_ROW };
#endif
