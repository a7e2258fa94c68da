/* See malloc/births.h. */
#include "heap_sampler/malloc/births.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <string.h>

enum { MOST = 1 << 12 };        /* 224 KiB */

static struct hs_malloc_told *births;
static uint32_t count, capacity;

bool
rb_hs_malloc_births_add(const struct hs_malloc_told *birth)
{
    if (count == MOST || !rb_hs_grow(HS_MEM_MALLOC, (void **)&births, &capacity, (uint64_t)count + 1, sizeof(*births))) return false;
    births[count++] = *birth;
    return true;
}

uint32_t
rb_hs_malloc_births_count(void)
{
    return count;
}

struct hs_malloc_told *
rb_hs_malloc_births_at(uint32_t i)
{
    return i < count ? &births[i] : NULL;
}

void
rb_hs_malloc_births_drop(uint32_t told)
{
    count -= told;
    if (count) memmove(births, births + told, count * sizeof(*births));
}

void
rb_hs_malloc_births_renumber(const uint32_t *new_number)
{
    for (uint32_t i = 0; i < count; i++) births[i].stack = new_number[births[i].stack];
}
