#ifndef HEAP_SAMPLER_HOLDERS_SLOT_INDEX_H
#define HEAP_SAMPLER_HOLDERS_SLOT_INDEX_H
/*
 * Objects by number, and one number for each: the object that it was reached
 * from.
 *
 *     number of an object    page * 2048 + slot on the page; pages count from 1
 *     from[place]            0: not reached; else the number of its parent, or of
 *                            what is no object: a root, or a node (chains.h)
 *     place                  first place of the page + slot
 *
 * So a walk costs 4 bytes a slot, and finding an object's number three loads:
 * a table has the page of each 64 KiB of addresses.
 *
 * In the child.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ruby/ruby.h"

enum { HS_PAGE_BITS = 16,
       HS_SLOT_BITS = 11,
       HS_SLOT_MASK = (1 << HS_SLOT_BITS) - 1 };

/* Numbers from here on are no objects. */
#define HS_NODE_NUMBERS UINT32_C(0xfffe0000)
#define HS_ROOT_NUMBERS UINT32_C(0xffff0000)
#define HS_NO_OBJECT UINT32_C(0)

struct hs_index_page {
    uintptr_t start;            /* of its first slot */
    uint32_t first;             /* place of its first slot */
    uint32_t by_size;           /* 2^32 / slot_size, rounded up: to divide by it */
    uint16_t slot_size, slots;
};

struct hs_slot_index {
    struct hs_index_page *pages;        /* page 0 is none */
    uint32_t page_count;        /* with that */
    uint32_t slots;             /* places */
    uint32_t *page_of_block;    /* by 64 KiB of addresses, from `first_block` on; 0: none */
    uintptr_t first_block, blocks;
    uint32_t *from;
};

/* Of all heap pages. False: there is no memory, or too many pages (128 GiB). */
bool rb_hs_index_make(struct hs_slot_index *index);

/* HS_NO_OBJECT: it lies in no heap page. */
static inline uint32_t
hs_index_number(const struct hs_slot_index *index, VALUE object)
{
    uintptr_t block = ((uintptr_t)object >> HS_PAGE_BITS) - index->first_block;
    if (block >= index->blocks) return HS_NO_OBJECT;
    uint32_t number = index->page_of_block[block];
    const struct hs_index_page *page = &index->pages[number];
    uint64_t offset = (uintptr_t)object - page->start;
    uint64_t slot = offset * page->by_size >> 32;
    return number && offset < 65536 && slot < page->slots ? number << HS_SLOT_BITS | (uint32_t)slot : HS_NO_OBJECT;
}

static inline uint32_t *
hs_index_from(const struct hs_slot_index *index, uint32_t number)
{
    return &index->from[index->pages[number >> HS_SLOT_BITS].first + (number & HS_SLOT_MASK)];
}

static inline VALUE
hs_index_object(const struct hs_slot_index *index, uint32_t number)
{
    const struct hs_index_page *page = &index->pages[number >> HS_SLOT_BITS];
    return (VALUE)(page->start + (number & HS_SLOT_MASK) * (uintptr_t)page->slot_size);
}

/* All are not reached again. */
void rb_hs_index_clear(struct hs_slot_index *index);

/*
 * Memory of the child.
 *
 * The child may not call malloc(3): another thread of its parent may have held
 * a lock of malloc's when it came to be.  So each table asks the kernel for as
 * much as it may ever need, and only what is touched is memory.  Nothing is
 * given back: the child ends soon.
 *
 * A child has one thread: no lock.
 */

/* Zeroes; NULL: the kernel has no addresses left, or the process's limit (ulimit -v) is reached. */
void *rb_hs_arena_map(size_t bytes);
/* What of all that was mapped is in memory, bytes. */
uint64_t rb_hs_arena_resident(void);

#endif
