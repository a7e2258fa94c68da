#ifndef HEAP_SAMPLER_BASE_TABLE_H
#define HEAP_SAMPLER_BASE_TABLE_H
/*
 * The two containers of the sampler: a map from 64-bit keys to 32-bit values
 * (open addressing, linear probing, at most half full) and a growing array;
 * and a sort that takes no memory.
 * Neither forgets single keys: what dies is left out when its owner builds the
 * map again, which happens after a GC at the most.
 *
 * Contract: the owner's.  Functions that can run out of memory say so.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"

struct hs_map {
    uint64_t *keys;             /* 0: empty place */
    uint32_t *values;
    uint32_t capacity;          /* a power of two, or 0 */
    uint32_t count;
    enum hs_memory_use use;
};

/* Spread the bits of a key; no key is lost (it is a bijection). */
static inline uint64_t
hs_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* Of any bytes; never 0. */
uint64_t rb_hs_hash(const char *bytes, size_t len);

/* Keys must not be 0.  Returns NULL if the key is not there. */
uint32_t *rb_hs_map_find(const struct hs_map *map, uint64_t key);
/* Adds or replaces; false: no memory, the map is as it was. */
bool rb_hs_map_put(struct hs_map *map, uint64_t key, uint32_t value);
void rb_hs_map_clear(struct hs_map *map);
void rb_hs_map_free(struct hs_map *map);

/* Make room for `count` elements of `size` bytes in `*array`, which holds
 * `*capacity` now.  New room is not initialised.  false: no memory. */
bool rb_hs_grow(enum hs_memory_use use, void **array, uint32_t *capacity, uint64_t count, size_t size);

/* Like qsort(3), but in place: glibc's may take as much memory again as it
 * sorts, by malloc(3), which no bound of ours would know.  Not stable;
 * O(n log n) always. */
void rb_hs_sort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
