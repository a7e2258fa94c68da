#ifndef HEAP_SAMPLER_BASE_TABLE_H
#define HEAP_SAMPLER_BASE_TABLE_H
/*
 * The two containers of the sampler: a map from 64-bit keys to 32-bit values
 * (open addressing, linear probing, at most half full) and a growing array;
 * and a sort that takes no memory.
 * Neither removes single keys: the owner leaves out what has been freed when it builds the
 * map again, which happens after a GC at the most.
 *
 * Contract: the owner's.  A comment says which functions can run out of memory.
 */
#include <string.h>
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
 * sorts, by malloc(3), which our bound would not count.  Not stable;
 * O(n log n) always. */
void rb_hs_sort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *));

/* -- texts ------------------------------------------------------------------------ */

/*
 * Texts, each stored once, by number.  A number and its text stay as they are
 * until rb_hs_texts_keep leaves the text out.  The bytes of a text that has
 * been left out stay for as long as someone holds them: a profile points to
 * them without the lock.
 *
 * [write]; what a number stands for may be read as [read].
 */

struct hs_text {
    const char *ptr;            /* not NUL-terminated; any bytes */
    uint32_t len;
};

static inline struct hs_text
hs_text_of(const char *text)
{
    return (struct hs_text){text, (uint32_t)strlen(text)};
}

/* The beginning of *rest up to `end`, or all of it; *rest is what comes behind. [any] */
static inline struct hs_text
hs_text_cut(struct hs_text *rest, char end)
{
    const char *found = memchr(rest->ptr, end, rest->len);
    struct hs_text head = {rest->ptr, found ? (uint32_t)(found - rest->ptr) : rest->len};
    uint32_t used = head.len + (found != NULL);
    *rest = (struct hs_text){rest->ptr + used, rest->len - used};
    return head;
}

/* In any table of texts whose text 0 is empty: the number of the text; 0: it is not there, and *hash is a free key. The owner's. */
uint32_t rb_hs_text_find(const struct hs_map *by_hash, const struct hs_text *texts, struct hs_text text, uint64_t *hash);

/* The text's number; 0 for the empty text, and when there is no memory. Where
 * there are too many texts, a new one becomes HS_EVICTED. */
uint32_t rb_hs_text(const char *ptr, size_t len);
uint32_t rb_hs_text_cstr(const char *text);

#define HS_EVICTED "(evicted)"
/* The root of a stack that was cut. */
#define HS_TRUNCATED "(truncated)"

extern struct hs_text *rb_hs_texts;     /* a number that is free has the empty text */
extern uint32_t rb_hs_text_count;
extern uint64_t rb_hs_texts_dropped;

/* How many there are. [read] */
uint32_t rb_hs_texts_used(void);
/* Are there more than so many sixteenths of what there may be? [read] */
bool rb_hs_texts_crowded(unsigned sixteenths);
/* The numbers of all others become free. false: no memory, and all stay. */
bool rb_hs_texts_keep(const bool *used);

/* Bytes of texts, where they stay until the last holder releases them. */
struct hs_text_bytes;
struct hs_text_bytes *rb_hs_texts_hold(void);   /* of all texts that have a number now. [read] NULL: there are none */
struct hs_text_bytes *rb_hs_text_bytes_new(void);       /* the caller's own, as yet none. [any] NULL: no memory */
struct hs_text_bytes *rb_hs_text_bytes_hold(struct hs_text_bytes *bytes);       /* once more. [any] */
void rb_hs_texts_release(struct hs_text_bytes *bytes);  /* `bytes` may be NULL. [any] */
/* A copy of these. NULL: no memory. The owner's. */
const char *rb_hs_text_store(struct hs_text_bytes *bytes, const char *ptr, size_t len);

#endif
