/*
 * The sort: what qsort(3) makes of the same, for elements of any size, and no memory taken for it.
 */
#include "tap.h"
#include "heap_sampler/base/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An element begins with its key; the rest is the key over again, so that one torn apart is seen. */
static int
compare(const void *left, const void *right)
{
    uint32_t a, b;
    memcpy(&a, left, sizeof(a));
    memcpy(&b, right, sizeof(b));
    return a < b ? -1 : a > b;
}

/* Keys from 0 to `keys` - 1: few of them stand for many that are equal. */
static bool
sorts(size_t count, size_t size, uint32_t keys, int order)
{
    char *ours = malloc(count * size + 1), *theirs = malloc(count * size + 1);
    uint32_t state = (uint32_t)(count * 31 + size);

    if (!ours || !theirs) abort();
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t key = order > 0 ? (uint32_t)i : order < 0 ? (uint32_t)(count - i)
                                                           : (state >> 8) % keys;
        for (size_t at = 0; at < size; at++) ours[i * size + at] = ((const char *)&key)[at % sizeof(key)];
    }
    memcpy(theirs, ours, count * size);
    size_t before = rb_hs_memory_total();
    rb_hs_sort(ours, count, size, compare);
    bool same_memory = rb_hs_memory_total() == before;
    qsort(theirs, count, size, compare);
    bool same = memcmp(ours, theirs, count * size) == 0;
    free(ours);
    free(theirs);
    return same && same_memory;
}

void
test_table(void)
{
    static const size_t sizes[] = {4, 7, 16, 56, 64, 65, 200};
    bool all = true, few = true, ordered = true;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (size_t count = 0; count < 70; count++) {
            all = all && sorts(count, sizes[s], UINT32_MAX >> 8, 0);
            few = few && sorts(count, sizes[s], 3, 0);
            ordered = ordered && sorts(count, sizes[s], 1, 1) && sorts(count, sizes[s], 1, -1);
        }
        all = all && sorts(5000, sizes[s], UINT32_MAX >> 8, 0);
    }
    ok(all, "the sort does as qsort(3) does");
    ok(few, "where many are equal");
    ok(ordered, "where they are in order, or in the other");
}
