/*
 * The sampler's own memory: malloc(3) with a small header in front of each
 * block that remembers its size, so that the accounts need no size at the
 * time of freeing.  No MRI header: this file is tested alone.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* Keeps what follows it aligned as malloc(3) promises (C99 has no max_align_t). */
union block_header {
    size_t size;
    long double align_float;
    long long align_integer;
    void *align_pointer;
};

static size_t bytes_in_use[HS_MEM_USES];
static uint64_t failures[HS_MEM_USES];
static long fail_countdown = -1;

static bool
should_fail(void)
{
    long left = __atomic_load_n(&fail_countdown, __ATOMIC_RELAXED);
    if (left < 0) return false;
    if (left == 0) return true;
    __atomic_store_n(&fail_countdown, left - 1, __ATOMIC_RELAXED);
    return false;
}

static void
account(enum hs_memory_use use, size_t plus, size_t minus)
{
    __atomic_add_fetch(&bytes_in_use[use], plus - minus, __ATOMIC_RELAXED);
}

void *
rb_hs_realloc(enum hs_memory_use use, void *ptr, size_t size)
{
    union block_header *old = ptr ? (union block_header *)ptr - 1 : NULL;
    size_t old_size = old ? old->size : 0;

    union block_header *block = NULL;
    if (!should_fail() && size <= SIZE_MAX - sizeof(*old)) block = realloc(old, sizeof(*block) + size);
    if (!block) {
        __atomic_add_fetch(&failures[use], 1, __ATOMIC_RELAXED);
        return NULL;
    }
    block->size = size;
    account(use, size + (old ? 0 : sizeof(*block)), old_size);
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
    if (size && count > SIZE_MAX / size) return NULL;
    void *ptr = rb_hs_malloc(use, count * size);
    if (ptr) memset(ptr, 0, count * size);
    return ptr;
}

void
rb_hs_free(enum hs_memory_use use, void *ptr)
{
    if (!ptr) return;
    union block_header *block = (union block_header *)ptr - 1;
    account(use, 0, block->size + sizeof(*block));
    free(block);
}

size_t
rb_hs_memory_bytes(enum hs_memory_use use)
{
    return __atomic_load_n(&bytes_in_use[use], __ATOMIC_RELAXED);
}

size_t
rb_hs_memory_total(void)
{
    size_t total = 0;
    for (int use = 0; use < HS_MEM_USES; use++) total += rb_hs_memory_bytes(use);
    return total;
}

uint64_t
rb_hs_memory_failures(enum hs_memory_use use)
{
    return __atomic_load_n(&failures[use], __ATOMIC_RELAXED);
}

void
rb_hs_memory_fail_after(long countdown)
{
    __atomic_store_n(&fail_countdown, countdown, __ATOMIC_RELAXED);
}
