/*
 * The table of texts.  The bytes live in blocks that are never moved nor
 * freed; found by a 64-bit hash of their bytes, compared, and probed linearly
 * over the key when two texts share a hash.
 */
#include "heap_sampler/base/texts.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"

#include <string.h>

enum { BLOCK_SIZE = 64 * 1024,
       EVICTED = 1 };

/* While own memory is bounded. */
enum { TEXTS_MAX = 1 << 16,
       TEXT_BYTES_MAX = 4 << 20 };

struct hs_text *rb_hs_texts;
uint32_t rb_hs_text_count;
uint64_t rb_hs_texts_dropped;
static uint32_t text_capacity;
static struct hs_map texts_by_hash = {.use = HS_MEM_NAMES};
static char *block;
static size_t block_left;
static size_t text_bytes;

static uint64_t
hash_bytes(const char *ptr, size_t len)
{
    uint64_t hash = hs_mix(len + 1);
    while (len >= 8) {
        uint64_t word;
        memcpy(&word, ptr, 8);
        hash = hs_mix(hash ^ word);
        ptr += 8;
        len -= 8;
    }
    uint64_t rest = 0;
    memcpy(&rest, ptr, len);
    hash = hs_mix(hash ^ rest);
    return hash ? hash : 1;
}

static const char *
store_bytes(const char *ptr, size_t len)
{
    char *place;
    if (len > BLOCK_SIZE / 4) {
        if (!(place = rb_hs_malloc(HS_MEM_NAMES, len))) return NULL;
    }
    else {
        if (len > block_left) {
            char *fresh = rb_hs_malloc(HS_MEM_NAMES, BLOCK_SIZE);
            if (!fresh) return NULL;
            block = fresh;
            block_left = BLOCK_SIZE;
        }
        place = block;
        block += len;
        block_left -= len;
    }
    memcpy(place, ptr, len);
    return place;
}

static bool
ensure_first_texts(void)
{
    if (rb_hs_text_count) return true;
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&rb_hs_texts, &text_capacity, 2, sizeof(*rb_hs_texts)) ||
        !rb_hs_map_put(&texts_by_hash, hash_bytes(HS_EVICTED, strlen(HS_EVICTED)), EVICTED)) {
        return false;
    }
    rb_hs_texts[0] = (struct hs_text){"", 0};
    rb_hs_texts[EVICTED] = (struct hs_text){HS_EVICTED, strlen(HS_EVICTED)};
    rb_hs_text_count = 2;
    return true;
}

static bool
too_many(size_t len)
{
    return rb_hs_memory_bound_p() && (rb_hs_text_count >= TEXTS_MAX || text_bytes + len > TEXT_BYTES_MAX);
}

uint32_t
rb_hs_text(const char *ptr, size_t len)
{
    HS_CONTRACT(write);
    if (!ensure_first_texts() || !len || len > UINT32_MAX) return 0;

    uint64_t hash = hash_bytes(ptr, len);
    for (;; hash = hash == UINT64_MAX ? 1 : hash + 1) {
        const uint32_t *found = rb_hs_map_find(&texts_by_hash, hash);
        if (!found) break;
        if (rb_hs_texts[*found].len == len && memcmp(rb_hs_texts[*found].ptr, ptr, len) == 0) return *found;
    }

    if (too_many(len)) {
        rb_hs_texts_dropped++;
        return EVICTED;
    }
    if (!rb_hs_grow(HS_MEM_NAMES, (void **)&rb_hs_texts, &text_capacity,
                    (uint64_t)rb_hs_text_count + 1, sizeof(*rb_hs_texts))) {
        return 0;
    }
    const char *stored = store_bytes(ptr, len);
    if (!stored || !rb_hs_map_put(&texts_by_hash, hash, rb_hs_text_count)) return 0;
    rb_hs_texts[rb_hs_text_count] = (struct hs_text){stored, (uint32_t)len};
    text_bytes += len;
    return rb_hs_text_count++;
}

uint32_t
rb_hs_text_cstr(const char *text)
{
    return rb_hs_text(text, strlen(text));
}
