/* See store/page_table.h. */
#include "heap_sampler/store/page_table.h"
#include "heap_sampler/store/check.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/store/malloc_table.h"
#include "heap_sampler/store/stack_table.h"

/* 64 KiB pages of slots of at least 40 bytes. */
enum { SLOTS_PER_PAGE = 65536 / 40 + 1 };

struct hs_pages rb_hs_pages;

struct hs_record *
rb_hs_page_find(const struct rb_heap_sampler_page *page, unsigned slot)
{
    if (!page) return NULL;
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
    *page = (struct rb_heap_sampler_page){.owner = owner, .body = body, .mark_bits = mark_bits, .list_index = rb_hs_pages.count};
    rb_hs_pages.list[rb_hs_pages.count++] = page;
    return *owner = page;
}

static bool
resize(struct rb_heap_sampler_page *page, uint32_t capacity)
{
    if (capacity > SLOTS_PER_PAGE) capacity = SLOTS_PER_PAGE;
    struct hs_record *records = rb_hs_realloc(HS_MEM_RECORDS, page->records, capacity * sizeof(*records));
    if (!records) return false;
    page->records = records;
    page->capacity = capacity;
    return true;
}

struct hs_record *
rb_hs_page_add(struct rb_heap_sampler_page **owner, uintptr_t body, const uintptr_t *mark_bits, unsigned slot)
{
    HS_CONTRACT(write);
    struct rb_heap_sampler_page *page = *owner;
    if (!page && !(page = page_new(owner, body, mark_bits))) return NULL;
    if (page->count == page->capacity && !resize(page, page->capacity ? page->capacity * 2 : 2)) {
        rb_hs_page_release(page);
        return NULL;
    }
    struct hs_record *record = &page->records[page->count++];
    record->slot = (uint16_t)slot;
    rb_hs_pages.records++;
    return record;
}

void
rb_hs_page_drop(struct rb_heap_sampler_page *page, uint32_t position)
{
    HS_CONTRACT(write);
    page->records[position] = page->records[--page->count];
    rb_hs_pages.records--;
}

void
rb_hs_page_release(struct rb_heap_sampler_page *page)
{
    HS_CONTRACT(write);
    if (page->count) {
        if (page->count <= page->capacity / 4) resize(page, page->count * 2);
        return;
    }
    struct rb_heap_sampler_page *last = rb_hs_pages.list[--rb_hs_pages.count];
    last->list_index = page->list_index;
    rb_hs_pages.list[page->list_index] = last;
    *page->owner = NULL;
    rb_hs_free(HS_MEM_RECORDS, page->records);
    rb_hs_free(HS_MEM_RECORDS, page);
}

void
rb_hs_page_forget(struct rb_heap_sampler_page *page, uint32_t position)
{
    rb_hs_store_count_off(&rb_hs_slot_store, &page->records[position]);
    rb_hs_page_drop(page, position);
}

/* -- the store ------------------------------------------------------------------- */

static void
each_record(hs_visit visit, void *data)
{
    for (uint32_t p = rb_hs_pages.count; p-- > 0;) {
        struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        uint32_t count = page->count;
        for (uint32_t i = count; i-- > 0;) {
            if (!visit(&page->records[i], page, data)) rb_hs_page_forget(page, i);
        }
        if (page->count < count) rb_hs_page_release(page);
    }
}

static uint64_t
size_of(const struct hs_record *record)
{
    return rb_hs_slot_store.sites[record->site].where;
}

/* While own memory is bounded all sessions' totals must do with what they have
 * when there is one. */
static uint32_t
sites_max(void)
{
    if (!rb_hs_memory_bound_p()) return 1u << 18;
    uint32_t sessions = 0;
    for (int s = 0; s < HS_PROFILES; s++) sessions += rb_hs_slot_store.session[s].on;
    return (1u << 15) / (sessions ? sessions : 1);
}

/* A snapshot copies a record, and each may become a row and a sample of its own;
 * each site may make two rows, one of them with its samples.  profile/slot_rows.c
 * asserts that its structs are no larger. */
static size_t
snapshot_bytes(void)
{
    enum { TEXT = sizeof(struct hs_text) + sizeof(uint32_t) };
    struct hs_malloc_table_stat of_malloc;
    rb_hs_malloc_table_stat(&of_malloc);
    return rb_hs_pages.records * HS_SNAPSHOT_RECORD + (size_t)rb_hs_slot_store.site_count * HS_SNAPSHOT_SITE +
        rb_hs_node_count * sizeof(struct hs_node) + rb_hs_frame_count * sizeof(struct hs_frame) +
        rb_hs_text_count * TEXT + HS_LABEL_NUMBERS * sizeof(struct hs_text) +
        of_malloc.blocks * (size_t)HS_SNAPSHOT_BLOCK + of_malloc.stacks * (size_t)HS_SNAPSHOT_STACK;
}

/* Own memory is bounded; for how many samples it does depends on how they lie
 * on their pages, and on what a snapshot of them takes. So few it always has
 * room for. */
enum { ALWAYS_ROOM_FOR = 1 << 14,
       RECORDS_MAX_BYTES = 6 << 20 };

static bool
crowded(unsigned quarters)
{
    uint64_t max = rb_hs_slot_store.limits.max_samples, records = rb_hs_pages.records;
    if (max && records > max - max / 4 * (4 - quarters)) return true;
    if (!rb_hs_memory_bound_p() || records < ALWAYS_ROOM_FOR) return false;
    return rb_hs_memory_bytes(HS_MEM_RECORDS) > RECORDS_MAX_BYTES / 4 * quarters ||
        snapshot_bytes() > rb_hs_memory_share(HS_MEM_SNAPSHOTS) / 4 * quarters;
}

struct hs_store rb_hs_slot_store = {
    .changes = {.use = HS_MEM_RECORDS, .most = 1 << 17},        /* 3 MiB */
    .each = each_record,
    .size_of = size_of,
    .sites_max = sites_max,
    .crowded = crowded,
    .owned = hs_contract_write_p,
    .by_key.use = HS_MEM_TOTALS,
    .epochs.use = HS_MEM_TOTALS,
};

#if HS_CHECKING
/* No slot has two records. */
static void
check_page(const struct rb_heap_sampler_page *page)
{
    bool seen[SLOTS_PER_PAGE] = {false};
    for (uint32_t i = 0; i < page->count; i++) {
        uint32_t slot = page->records[i].slot;
        HS_ASSERT(slot < SLOTS_PER_PAGE, "page %p: slot %u", (void *)page->body, slot);
        HS_ASSERT(!seen[slot], "page %p: two records of slot %u", (void *)page->body, slot);
        seen[slot] = true;
    }
}

void
rb_hs_pages_check(void)
{
    uint64_t records = 0;
    HS_ASSERT(rb_hs_pages.count <= rb_hs_pages.capacity, "%u tables in %u places", rb_hs_pages.count, rb_hs_pages.capacity);
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        HS_ASSERT(page->list_index == p, "the table of page %p is number %u, not %u", (void *)page->body, p, page->list_index);
        HS_ASSERT(*page->owner == page, "page %p does not own its table", (void *)page->body);
        HS_ASSERT(page->count, "page %p has a table and no sample", (void *)page->body);
        HS_ASSERT(page->count <= page->capacity, "page %p: %u records in %u places", (void *)page->body, page->count,
                  page->capacity);
        check_page(page);
        records += page->count;
    }
    HS_ASSERT(records == rb_hs_pages.records, "%llu records, counted %llu", (unsigned long long)records,
              (unsigned long long)rb_hs_pages.records);
}
#endif
