/* See heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/heap_walk/walk.h"
#include "heap_sampler/memory/smaps.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGES_MOST = HS_NODE_NUMBERS >> HS_SLOT_BITS };

static bool
add_pages(struct hs_slot_index *index)
{
    size_t count = rb_heap_sampler_gc_page_count();
    index->pages = count < PAGES_MOST ? rb_hs_arena_map((count + 1) * sizeof(*index->pages)) : NULL;
    if (!index->pages) return false;
    index->page_count = 1;
    for (size_t i = 0; i < count; i++) {
        struct rb_heap_sampler_gc_page look;
        rb_heap_sampler_gc_page(i, &look);
        if (!look.slots) continue;
        HS_ASSERT(look.slots <= HS_SLOT_MASK + 1, "a page of %u slots", look.slots);
        index->pages[index->page_count++] = (struct hs_index_page){
            .start = look.start,
            .first = index->slots,
            .by_size = (uint32_t)((UINT64_C(1) << 32) / look.slot_size + 1),
            .slot_size = (uint16_t)look.slot_size,
            .slots = (uint16_t)look.slots,
        };
        index->slots += look.slots;
    }
    return index->page_count > 1;
}

/* Pages lie between the first and the last: they come in the order of their addresses. */
static bool
add_blocks(struct hs_slot_index *index)
{
    index->first_block = index->pages[1].start >> HS_PAGE_BITS;
    index->blocks = (index->pages[index->page_count - 1].start >> HS_PAGE_BITS) - index->first_block + 1;
    index->page_of_block = rb_hs_arena_map(index->blocks * sizeof(*index->page_of_block));
    if (!index->page_of_block) return false;
    for (uint32_t i = 1; i < index->page_count; i++) {
        index->page_of_block[(index->pages[i].start >> HS_PAGE_BITS) - index->first_block] = i;
    }
    return true;
}

bool
rb_hs_index_make(struct hs_slot_index *index)
{
    *index = (struct hs_slot_index){0};
    if (!add_pages(index) || !add_blocks(index)) return false;
    index->from = rb_hs_arena_map(index->slots * sizeof(*index->from));
    return index->from != NULL;
}

enum { MAPPINGS_MOST = 256,
       PLACES_FIRST = 1 << 11,
       PLACES_GROWTH = 8 };

static struct mapping {
    uint64_t start, end;
} mappings[MAPPINGS_MOST];
static unsigned mapping_count;

void *
rb_hs_arena_map(size_t bytes)
{
    if (mapping_count == MAPPINGS_MOST) return NULL;
    void *start = mmap(NULL, bytes + !bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    mappings[mapping_count++] = (struct mapping){(uint64_t)(uintptr_t)start, (uint64_t)(uintptr_t)start + bytes + !bytes};
    return start;
}

/* Few places at first: each that is used is a page of memory while few are. */
static bool
grow_map(struct hs_map *map)
{
    struct hs_map bigger = {.capacity = map->capacity ? map->capacity * PLACES_GROWTH : PLACES_FIRST};
    bigger.keys = rb_hs_arena_map(bigger.capacity * sizeof(*bigger.keys));
    bigger.values = rb_hs_arena_map(bigger.capacity * sizeof(*bigger.values));
    if (!bigger.keys || !bigger.values) return false;
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->keys[i]) rb_hs_map_put(&bigger, map->keys[i], map->values[i]);
    }
    *map = bigger;
    return true;
}

bool
rb_hs_arena_put(struct hs_map *map, uint64_t key, uint32_t value)
{
    bool room = (uint64_t)map->count * 2 < map->capacity || grow_map(map);
    return room && rb_hs_map_put(map, key, value);
}

uint64_t
rb_hs_arena_resident(void)
{
    uint64_t bytes = 0;
    int pagemap = rb_hs_survey_open_pagemap();
    if (pagemap < 0) return 0;
    for (unsigned i = 0; i < mapping_count; i++) bytes += rb_hs_survey_resident(pagemap, mappings[i].start, mappings[i].end);
    close(pagemap);
    return bytes;
}
