/* See sampling/gcs.h. What compaction must not move is known of objects that a full mark has met. */
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/gc_view.h"

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
