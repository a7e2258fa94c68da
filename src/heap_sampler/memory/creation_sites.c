/* Where threads and fibers were made, as texts "path:line": see memory/threads.h. */
#include "heap_sampler/memory/threads.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <stdlib.h>
#include <string.h>

#define FIXED(text) {text, sizeof(text) - 1}
static struct hs_text sites[HS_CREATION_SITES] = {
    [HS_CREATION_OTHER] = FIXED("(other)"),
    [HS_CREATION_MAIN] = FIXED("(main)"),
    [HS_CREATION_C] = FIXED("(C function)"),
};
static uint32_t living[HS_CREATION_SITES];             /* threads and fibers that have the number */
/* Atomic, publishes the texts before it; they do not change while numbers are held. */
static uint32_t count = HS_CREATION_FIXED;
static uint32_t next_free = HS_CREATION_FIXED;   /* no number below it is free */
/* Atomic.  A holder is counted before it takes the lock of the lists and reads numbers.  Under that lock numbers are freed
 * if there is no holder: one that comes then waits for the lock, and reads none of them. */
static uint32_t holders;
static struct hs_map numbers = {.use = HS_MEM_NAMES};

/* Numbers that no thread and no fiber has become free.  The map holds no more than before: putting back cannot fail. */
static void
free_unused(void)
{
    uint64_t key;
    rb_hs_map_clear(&numbers);
    for (uint32_t i = HS_CREATION_FIXED; i < HS_CREATION_SITES; i++) {
        if (living[i]) {
            rb_hs_text_find(&numbers, sites, sites[i], &key);
            rb_hs_map_put(&numbers, key, i);
            continue;
        }
        rb_hs_free(HS_MEM_NAMES, (char *)sites[i].ptr);
        sites[i] = (struct hs_text){NULL, 0};
    }
    next_free = HS_CREATION_FIXED;
}

static uint32_t
free_number(void)
{
    while (next_free < HS_CREATION_SITES && sites[next_free].ptr) next_free++;
    return next_free;
}

static uint32_t
add_site(struct hs_text text, uint64_t key)
{
    if (free_number() == HS_CREATION_SITES && !__atomic_load_n(&holders, __ATOMIC_SEQ_CST)) free_unused();
    uint32_t number = free_number();
    char *copy = number < HS_CREATION_SITES ? rb_hs_malloc(HS_MEM_NAMES, text.len + 1) : NULL;
    if (!copy || !rb_hs_map_put(&numbers, key, number)) {
        rb_hs_free(HS_MEM_NAMES, copy);
        return HS_CREATION_OTHER;
    }
    sites[number] = (struct hs_text){memcpy(copy, text.ptr, text.len + 1), text.len};
    if (number >= count) __atomic_store_n(&count, number + 1, __ATOMIC_RELEASE);
    return number;
}

uint32_t
rb_hs_creation_site(struct hs_text text)
{
    uint64_t key;
    uint32_t number = rb_hs_text_find(&numbers, sites, text, &key);
    if (!number) number = add_site(text, key);
    living[number]++;
    return number;
}

void
rb_hs_creation_site_leave(uint32_t number)
{
    if (number >= HS_CREATION_FIXED) living[number]--;
}

void
rb_hs_creation_sites_hold(void)
{
    __atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void
rb_hs_creation_sites_release(void)
{
    __atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

bool
rb_hs_creation_sites_after_fork(void)
{
    bool held = holders;
    holders = 0;
    return held;
}

struct hs_text
rb_hs_creation_site_path(uint32_t number, uint32_t *line)
{
    *line = 0;
    if (number >= rb_hs_creation_site_count()) number = HS_CREATION_OTHER;
    struct hs_text path = sites[number];
    if (number < HS_CREATION_FIXED) return path;
    while (path.len && path.ptr[path.len - 1] != ':') path.len--;
    *line = (uint32_t)strtoul(path.ptr + path.len, NULL, 10);
    return (struct hs_text){path.ptr, path.len - 1};
}

uint32_t
rb_hs_creation_site_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}
