#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/estimate/draw.h"

struct hs_sampler rb_hs_sampler = {.epochs.use = HS_MEM_TOTALS};

void
rb_hs_totals_add(struct hs_totals *sum, const struct hs_totals *more)
{
    rb_hs_estimate_add(&sum->alloc, &more->alloc);
    rb_hs_estimate_add(&sum->dead, &more->dead);
    sum->dead_gcs += more->dead_gcs;
}

static unsigned
significant_bits(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

void
rb_hs_spared_count(struct hs_spared *spared, uint64_t samples)
{
    spared->by_bits[significant_bits(samples)]++;
}

uint64_t
rb_hs_spared_from(const struct hs_spared *spared, uint32_t room)
{
    unsigned bits = 65;
    while (bits > 2 && spared->by_bits[bits - 1] <= room) room -= spared->by_bits[--bits];
    return bits > 64 ? UINT64_MAX : UINT64_C(1) << (bits - 1);
}

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
