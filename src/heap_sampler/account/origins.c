/* Where threads and fibers were made: see account/alive.h. */
#include "heap_sampler/account/alive.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <string.h>

struct origin {
    char *path;
    uint32_t len, line;
    uint32_t living;            /* threads and fibers that have it */
};

static struct origin origins[HS_ORIGINS];       /* those before `count` do not change while they are held */
static uint32_t count = HS_ORIGINS_FIXED;       /* atomic */
static uint32_t next_free = HS_ORIGINS_FIXED;   /* no number below it is free */
static uint32_t holders;        /* atomic */
static struct hs_map numbers = {.use = HS_MEM_NAMES};   /* by hash */

static const char *const fixed[HS_ORIGINS_FIXED] = {
    [HS_ORIGIN_OTHER] = "(other)",
    [HS_ORIGIN_MAIN] = "(main)",
    [HS_ORIGIN_C] = "(C function)",
};

/* The number of the line; 0: it has none, and *key is free for it. */
static uint32_t
find_origin(const char *path, size_t len, uint32_t line, uint64_t *key)
{
    const uint32_t *found;
    for (*key = (rb_hs_hash(path, len) ^ hs_mix(line)) | 1; (found = rb_hs_map_find(&numbers, *key)); *key += 2) {
        const struct origin *origin = &origins[*found];
        if (origin->line == line && origin->len == len && memcmp(origin->path, path, len) == 0) return *found;
    }
    return 0;
}

/* Numbers that no thread and no fiber has become free.  The map holds no more than before: putting back cannot fail. */
static void
forget_the_dead(void)
{
    rb_hs_map_clear(&numbers);
    for (uint32_t i = HS_ORIGINS_FIXED; i < HS_ORIGINS; i++) {
        struct origin *origin = &origins[i];
        uint64_t key;
        if (origin->living) {
            find_origin(origin->path, origin->len, origin->line, &key);
            rb_hs_map_put(&numbers, key, i);
            continue;
        }
        rb_hs_free(HS_MEM_NAMES, origin->path);
        *origin = (struct origin){NULL};
    }
    next_free = HS_ORIGINS_FIXED;
}

static uint32_t
free_number(void)
{
    while (next_free < HS_ORIGINS && origins[next_free].path) next_free++;
    return next_free;
}

static uint32_t
add_origin(uint64_t key, const char *path, size_t len, uint32_t line)
{
    if (free_number() == HS_ORIGINS && !__atomic_load_n(&holders, __ATOMIC_SEQ_CST)) forget_the_dead();
    uint32_t number = free_number();
    char *copy = number < HS_ORIGINS ? rb_hs_malloc(HS_MEM_NAMES, len + 1) : NULL;
    if (!copy || !rb_hs_map_put(&numbers, key, number)) {
        rb_hs_free(HS_MEM_NAMES, copy);
        return HS_ORIGIN_OTHER;
    }
    memcpy(copy, path, len);
    origins[number] = (struct origin){copy, (uint32_t)len, line, 1};
    if (number >= count) __atomic_store_n(&count, number + 1, __ATOMIC_RELEASE);
    return number;
}

uint32_t
rb_hs_origin(const char *path, size_t len, uint32_t line)
{
    if (len > HS_ORIGIN_PATH_MAX) return HS_ORIGIN_OTHER;
    uint64_t key;
    uint32_t found = find_origin(path, len, line, &key);
    if (!found) return add_origin(key, path, len, line);
    origins[found].living++;
    return found;
}

void
rb_hs_origin_leave(uint32_t number)
{
    if (number >= HS_ORIGINS_FIXED) origins[number].living--;
}

void
rb_hs_origins_hold(void)
{
    __atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void
rb_hs_origins_release(void)
{
    __atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void
rb_hs_origins_after_fork(void)
{
    holders = 0;
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
