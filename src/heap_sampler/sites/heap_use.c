/* See sites/heap_use.h. */
#include "heap_sampler/sites/heap_use.h"

uint64_t
rb_hs_heap_spare_pages(const struct hs_heap_use *use)
{
    uint64_t slots = use->live_slots + use->free_slots;
    if (!slots) return 0;
    /* Pages of a heap differ by a slot at most. */
    uint64_t needed = (use->live_slots * use->pages + slots - 1) / slots;
    if (needed < use->pinned_pages) needed = use->pinned_pages;
    return needed < use->pages ? use->pages - needed : 0;
}
