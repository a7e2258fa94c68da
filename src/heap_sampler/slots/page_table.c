/* See slots/page_table.h. */
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"

#include <string.h>

/* 64 KiB pages of slots of at least 40 bytes. */
enum { SLOTS_PER_PAGE = 65536 / 40 + 1,
       INDEX_FROM = 32 };

struct hs_pages rb_hs_pages;

struct hs_record *
rb_hs_page_find(const struct rb_heap_sampler_page *page, unsigned slot)
{
    if (!page) return NULL;
    if (page->by_slot) {
        uint16_t position = page->by_slot[slot];
        return position ? &page->records[position - 1] : NULL;
    }
    for (uint32_t i = 0; i < page->count; i++) {
        if (page->records[i].slot == slot) return &page->records[i];
    }
    return NULL;
}

static struct rb_heap_sampler_page *
page_new(struct rb_heap_sampler_page **owner, uintptr_t body, const uintptr_t *mark_bits)
{
    if (!rb_hs_grow(HS_MEM_RECORDS, (void **)&rb_hs_pages.list, &rb_hs_pages.capacity,
                    (uint64_t)rb_hs_pages.count + 1, sizeof(*rb_hs_pages.list))) {
        return NULL;
    }
    struct rb_heap_sampler_page *page = rb_hs_calloc(HS_MEM_RECORDS, 1, sizeof(*page));
    if (!page) return NULL;
    page->owner = owner;
    page->body = body;
    page->mark_bits = mark_bits;
    page->list_index = rb_hs_pages.count;
    rb_hs_pages.list[rb_hs_pages.count++] = page;
    *owner = page;
    return page;
}

/* The index is a convenience: without memory for it, finding is linear. */
static void
page_index(struct rb_heap_sampler_page *page)
{
    page->by_slot = rb_hs_calloc(HS_MEM_RECORDS, SLOTS_PER_PAGE, sizeof(*page->by_slot));
    if (!page->by_slot) return;
    for (uint32_t i = 0; i < page->count; i++) {
        page->by_slot[page->records[i].slot] = (uint16_t)(i + 1);
    }
}

struct hs_record *
rb_hs_page_add(struct rb_heap_sampler_page **owner, uintptr_t body, const uintptr_t *mark_bits, unsigned slot)
{
    HS_CONTRACT(write);
    struct rb_heap_sampler_page *page = *owner;
    struct hs_record *record = rb_hs_page_find(page, slot);
    if (record) return record;

    if (!page && !(page = page_new(owner, body, mark_bits))) return NULL;
    if (page->count == page->capacity) {
        uint32_t capacity = page->capacity ? page->capacity * 2 : 2;
        if (capacity > SLOTS_PER_PAGE) capacity = SLOTS_PER_PAGE;
        struct hs_record *records = rb_hs_realloc(HS_MEM_RECORDS, page->records, capacity * sizeof(*records));
        if (!records) {
            rb_hs_page_release(page);
            return NULL;
        }
        page->records = records;
        page->capacity = capacity;
        if (capacity > INDEX_FROM && !page->by_slot) page_index(page);
    }
    record = &page->records[page->count++];
    record->slot = (uint16_t)slot;
    if (page->by_slot) page->by_slot[slot] = (uint16_t)page->count;
    rb_hs_pages.records++;
    return record;
}

void
rb_hs_page_drop(struct rb_heap_sampler_page *page, uint32_t position)
{
    HS_CONTRACT(write);
    if (page->by_slot) page->by_slot[page->records[position].slot] = 0;
    uint32_t last = --page->count;
    rb_hs_pages.records--;
    if (position != last) {
        page->records[position] = page->records[last];
        if (page->by_slot) page->by_slot[page->records[position].slot] = (uint16_t)(position + 1);
    }
}

static void
page_shrink(struct rb_heap_sampler_page *page)
{
    if (page->count > page->capacity / 4) return;
    uint32_t capacity = page->count * 2;
    struct hs_record *records = rb_hs_realloc(HS_MEM_RECORDS, page->records, capacity * sizeof(*records));
    if (!records) return;
    page->records = records;
    page->capacity = capacity;
    if (capacity > INDEX_FROM / 2) return;
    rb_hs_free(HS_MEM_RECORDS, page->by_slot);
    page->by_slot = NULL;
}

void
rb_hs_page_release(struct rb_heap_sampler_page *page)
{
    HS_CONTRACT(write);
    if (page->count) {
        page_shrink(page);
        return;
    }
    struct rb_heap_sampler_page *last = rb_hs_pages.list[--rb_hs_pages.count];
    last->list_index = page->list_index;
    rb_hs_pages.list[page->list_index] = last;
    *page->owner = NULL;
    rb_hs_free(HS_MEM_RECORDS, page->records);
    rb_hs_free(HS_MEM_RECORDS, page->by_slot);
    rb_hs_free(HS_MEM_RECORDS, page);
}

#if HS_CHECKING
/* The index leads to each record, and to nothing else. */
static void
check_index(const struct rb_heap_sampler_page *page)
{
    uint32_t indexed = 0;
    for (uint32_t slot = 0; slot < SLOTS_PER_PAGE; slot++) {
        uint32_t position = page->by_slot[slot];
        if (!position) continue;
        indexed++;
        HS_MUST(position <= page->count && page->records[position - 1].slot == slot,
                "page %p: slot %u is indexed at %u of %u", (void *)page->body, slot, position, page->count);
    }
    HS_MUST(indexed == page->count, "page %p: %u records, %u indexed", (void *)page->body, page->count, indexed);
}

static void
check_short_page(const struct rb_heap_sampler_page *page)
{
    for (uint32_t i = 0; i < page->count; i++) {
        const struct hs_record *found = rb_hs_page_find(page, page->records[i].slot);
        HS_MUST(found == &page->records[i], "page %p: two records of slot %u", (void *)page->body, page->records[i].slot);
    }
}

void
rb_hs_pages_check(void)
{
    uint64_t records = 0;
    HS_MUST(rb_hs_pages.count <= rb_hs_pages.capacity, "%u tables in %u places", rb_hs_pages.count, rb_hs_pages.capacity);
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        HS_MUST(page->list_index == p, "the table of page %p is number %u, not %u", (void *)page->body, p, page->list_index);
        HS_MUST(*page->owner == page, "page %p does not own its table", (void *)page->body);
        HS_MUST(page->count, "page %p has a table and no sample", (void *)page->body);
        HS_MUST(page->count <= page->capacity, "page %p: %u records in %u places", (void *)page->body, page->count,
                page->capacity);
        for (uint32_t i = 0; i < page->count; i++) {
            HS_MUST(page->records[i].slot < SLOTS_PER_PAGE, "page %p: slot %u", (void *)page->body, page->records[i].slot);
        }
        if (page->by_slot) {
            check_index(page);
        }
        else if (page->count <= INDEX_FROM) {
            check_short_page(page);
        }
        records += page->count;
    }
    HS_MUST(records == rb_hs_pages.records, "%llu records, counted %llu", (unsigned long long)records,
            (unsigned long long)rb_hs_pages.records);
}
#endif
