/*
 * The sampler's own memory: malloc(3) with a small header in front of each
 * block, which has its size.  So freeing needs no size.  No MRI header: this
 * file is tested alone.
 */
#include "heap_sampler/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Keeps what follows it aligned as malloc(3) promises (C99 has no max_align_t). */
union block_header {
    size_t size;
    long double align_float;
    long long align_integer;
    void *align_pointer;
};

/* Shares of HS_MEMORY_MAX, in half MiB. Two uses are in the share of another one. */
static const size_t halves[HS_MEM_USES] = {[HS_MEM_RECORDS] = 32, [HS_MEM_STACKS] = 40, [HS_MEM_MALLOC] = 13, [HS_MEM_SNAPSHOTS] = 43};
/* Atomic figures, and a flag.  Each addition returns the sum that it made: no bound is exceeded by two at once. */
static size_t bytes_in_use[HS_MEM_USES], bytes_in_share[HS_MEM_USES], bytes_in_all, peak;
static bool unbound;
static uint64_t failures[HS_MEM_USES];
_Thread_local struct hs_memory_part *rb_hs_memory_part;
_Thread_local volatile bool rb_hs_memory_inside;

static enum hs_memory_use
share_of(enum hs_memory_use use)
{
    return use == HS_MEM_TOTALS ? HS_MEM_RECORDS : use == HS_MEM_NAMES ? HS_MEM_STACKS
                                                                       : use;
}

size_t
rb_hs_memory_share(enum hs_memory_use use)
{
    return halves[share_of(use)] << 19;
}

/* Only a thread that takes snapshots reads rb_hs_memory_part, which may be allocated when it is first used: the hook inside
 * malloc never does. */
static bool
note(enum hs_memory_use use, size_t bytes)
{
    struct hs_memory_part *part = use == HS_MEM_SNAPSHOTS ? rb_hs_memory_part : NULL;
    if (!part) return true;
    size_t held = __atomic_add_fetch(&part->bytes, bytes, __ATOMIC_RELAXED);
    return !part->most || held <= part->most;
}

void
rb_hs_memory_give_back(enum hs_memory_use use, size_t bytes)
{
    note(use, 0 - bytes);
    __atomic_sub_fetch(&bytes_in_use[use], bytes, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&bytes_in_share[share_of(use)], bytes, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&bytes_in_all, bytes, __ATOMIC_RELAXED);
}

/* Before it is allocated, so that no moment exceeds the bound. `shrinks`: a
 * block that gets smaller is not refused. */
static bool
take(enum hs_memory_use use, size_t bytes, bool shrinks)
{
    __atomic_add_fetch(&bytes_in_use[use], bytes, __ATOMIC_RELAXED);
    size_t share = __atomic_add_fetch(&bytes_in_share[share_of(use)], bytes, __ATOMIC_RELAXED);
    size_t all = __atomic_add_fetch(&bytes_in_all, bytes, __ATOMIC_RELAXED);
    bool part = note(use, bytes);
    if (!shrinks && rb_hs_memory_bound_p() && (!part || share > rb_hs_memory_share(use))) {
        rb_hs_memory_give_back(use, bytes);
        return false;
    }
    size_t most = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    while (all > most &&
           !__atomic_compare_exchange_n(&peak, &most, all, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return true;
}

static void *
failed(enum hs_memory_use use)
{
    __atomic_add_fetch(&failures[use], 1, __ATOMIC_RELAXED);
    return NULL;
}

void *
rb_hs_realloc(enum hs_memory_use use, void *ptr, size_t size)
{
    union block_header *old = ptr ? (union block_header *)ptr - 1 : NULL;
    size_t old_size = old ? old->size : 0;

    if (size > SIZE_MAX / 2) return failed(use);
    /* realloc(3) may have both blocks while it copies. */
    if (!take(use, sizeof(*old) + size, old && size <= old_size)) return failed(use);
    rb_hs_memory_inside = true;
    union block_header *block = realloc(old, sizeof(*block) + size);
    rb_hs_memory_inside = false;
    if (!block) {
        rb_hs_memory_give_back(use, sizeof(*block) + size);
        return failed(use);
    }
    block->size = size;
    if (old) rb_hs_memory_give_back(use, sizeof(*block) + old_size);
    return block + 1;
}

void *
rb_hs_malloc(enum hs_memory_use use, size_t size)
{
    return rb_hs_realloc(use, NULL, size);
}

void *
rb_hs_calloc(enum hs_memory_use use, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return failed(use);
    void *ptr = rb_hs_malloc(use, count * size);
    if (ptr) memset(ptr, 0, count * size);
    return ptr;
}

void
rb_hs_free(enum hs_memory_use use, void *ptr)
{
    if (!ptr) return;
    union block_header *block = (union block_header *)ptr - 1;
    size_t size = block->size;
    rb_hs_memory_inside = true;
    free(block);
    rb_hs_memory_inside = false;
    rb_hs_memory_give_back(use, size + sizeof(*block));
}

size_t
rb_hs_memory_bytes(enum hs_memory_use use)
{
    return __atomic_load_n(&bytes_in_use[use], __ATOMIC_RELAXED);
}

size_t
rb_hs_memory_total(void)
{
    return __atomic_load_n(&bytes_in_all, __ATOMIC_RELAXED);
}

size_t
rb_hs_memory_peak(void)
{
    return __atomic_load_n(&peak, __ATOMIC_RELAXED);
}

void
rb_hs_memory_bound(bool bound)
{
    __atomic_store_n(&unbound, !bound, __ATOMIC_RELAXED);
}

bool
rb_hs_memory_bound_p(void)
{
    return !__atomic_load_n(&unbound, __ATOMIC_RELAXED);
}

uint64_t
rb_hs_memory_failures(enum hs_memory_use use)
{
    return __atomic_load_n(&failures[use], __ATOMIC_RELAXED);
}
