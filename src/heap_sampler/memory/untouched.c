/* What of malloc's blocks is resident: a large block may never have been touched. */
#include "heap_sampler/memory/account.h"
#include "heap_sampler/memory/smaps.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/kernel.h"

#include <unistd.h>

/* A small block shares its pages with others or is on one that it was written to.  Of large ones the kernel knows, page by
 * page: 16 GiB of them take it 40 ms. */
enum { LARGE_BLOCK = 1 << 14,
       PAGES_MOST = 4 << 20 };

struct hs_residency
rb_hs_residency_open(void)
{
    return (struct hs_residency){rb_hs_survey_open_pagemap(), PAGES_MOST};
}

double
rb_hs_resident_part(struct hs_residency *residency, uint64_t address, uint64_t size)
{
    uint64_t pages = size / 4096;
    if (size < LARGE_BLOCK || residency->pagemap < 0 || pages > residency->pages_left) return 1;
    residency->pages_left -= pages;
    return (double)rb_hs_survey_resident(residency->pagemap, address, address + size) / (double)size;
}

void
rb_hs_residency_close(struct hs_residency *residency)
{
    if (residency->pagemap >= 0) close(residency->pagemap);
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
