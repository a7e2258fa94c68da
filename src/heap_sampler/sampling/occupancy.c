/* See sampling/occupancy.h. */
#include "heap_sampler/sampling/occupancy.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/gc_view.h"

static struct hs_heap_use heap_use[HS_HEAPS_MAX];

const struct hs_heap_use *
rb_hs_heap_use(uint32_t heap)
{
    return &heap_use[heap];
}

static bool
bit_p(const uintptr_t *bits, unsigned slot)
{
    enum { BITS = sizeof(uintptr_t) * 8 };
    return (bits[slot / BITS] >> (slot % BITS)) & 1;
}

static void
share_free(struct rb_heap_sampler_page *page, bool moved, bool pins)
{
    struct rb_heap_sampler_page_use use;
    rb_heap_sampler_gc_page_use(page->owner, moved, &use);
    page->free_share = use.live ? (double)use.free * (double)use.slot_size / use.live : 0;
    if (!pins) return;
    for (uint32_t i = 0; i < page->count; i++) page->records[i].pinned = bit_p(use.pinned_bits, page->records[i].slot);
}

static void
look_at_pages(bool moved, bool pins)
{
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) share_free(rb_hs_pages.list[p], moved, pins);
}

static void
look_at_heaps(bool moved)
{
    struct rb_heap_sampler_gc_counts counts;
    rb_heap_sampler_gc_counts(&counts);
    for (uint32_t i = 0; i < counts.heap_count && i < HS_HEAPS_MAX; i++) {
        struct rb_heap_sampler_heap_use use;
        rb_heap_sampler_gc_heap_use(i, moved, &use);
        heap_use[i] = (struct hs_heap_use){true, use.pages, use.pinned_pages, use.live_slots, use.free_slots};
    }
}

void
rb_hs_occupancy_after_mark(bool full_mark)
{
    HS_CONTRACT(write);
    look_at_pages(false, full_mark);
    if (full_mark && rb_heap_sampler_drawing) look_at_heaps(false);
}

/* Pins stay: what was not to be moved has not been. */
void
rb_hs_occupancy_after_move(void)
{
    HS_CONTRACT(write);
    look_at_pages(true, false);
    if (rb_heap_sampler_drawing) look_at_heaps(true);
}
