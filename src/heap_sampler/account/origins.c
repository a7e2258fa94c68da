/* See account/origins.h. */
#include "heap_sampler/account/origins.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <string.h>

struct origin {
    char *path;
    uint32_t len, line;
};

static struct origin origins[HS_ORIGINS];       /* those before `count` do not change */
static uint32_t count = HS_ORIGINS_FIXED;       /* atomic */
static struct hs_map numbers = {.use = HS_MEM_NAMES};   /* by hash */

static const char *const fixed[HS_ORIGINS_FIXED] = {
    [HS_ORIGIN_OTHER] = "(other)",
    [HS_ORIGIN_MAIN] = "(main)",
    [HS_ORIGIN_C] = "(C function)",
};

/* Never 0. */
static uint64_t
hash_of(const char *path, size_t len, uint32_t line)
{
    uint64_t sum = hs_mix(line + 1), word;
    for (; len >= sizeof(word); path += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, path, sizeof(word));
        sum = (sum ^ word) * UINT64_C(0xd6e8feb86659fd93);
        sum ^= sum >> 32;
    }
    word = len;
    memcpy(&word, path, len);
    return hs_mix(sum ^ word ^ (uint64_t)len << 56) | 1;
}

static uint32_t
add_origin(uint64_t key, const char *path, size_t len, uint32_t line)
{
    uint32_t number = count;
    char *copy = number < HS_ORIGINS ? rb_hs_malloc(HS_MEM_NAMES, len + 1) : NULL;
    if (!copy || !rb_hs_map_put(&numbers, key, number)) {
        rb_hs_free(HS_MEM_NAMES, copy);
        return HS_ORIGIN_OTHER;
    }
    memcpy(copy, path, len);
    origins[number] = (struct origin){copy, (uint32_t)len, line};
    __atomic_store_n(&count, number + 1, __ATOMIC_RELEASE);
    return number;
}

uint32_t
rb_hs_origin(const char *path, size_t len, uint32_t line)
{
    if (len > HS_ORIGIN_PATH_MAX) return HS_ORIGIN_OTHER;
    uint64_t key = hash_of(path, len, line);
    const uint32_t *found;
    for (; (found = rb_hs_map_find(&numbers, key)); key += 2) {
        const struct origin *origin = &origins[*found];
        if (origin->line == line && origin->len == len && memcmp(origin->path, path, len) == 0) return *found;
    }
    return add_origin(key, path, len, line);
}

struct hs_text
rb_hs_origin_path(uint32_t number, uint32_t *line)
{
    *line = 0;
    if (number >= rb_hs_origin_count()) number = HS_ORIGIN_OTHER;
    if (number < HS_ORIGINS_FIXED) return (struct hs_text){fixed[number], (uint32_t)strlen(fixed[number])};
    *line = origins[number].line;
    return (struct hs_text){origins[number].path, origins[number].len};
}

uint32_t
rb_hs_origin_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}
