/* See base/table.h. */
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/memory.h"

#include <string.h>

uint64_t
rb_hs_hash(const char *bytes, size_t len)
{
    uint64_t hash = hs_mix(len + 1), word;
    for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = hs_mix(hash ^ word);
    }
    word = 0;
    memcpy(&word, bytes, len);
    hash = hs_mix(hash ^ word);
    return hash ? hash : 1;
}

static uint32_t
place_of(const struct hs_map *map, uint64_t key)
{
    uint32_t mask = map->capacity - 1;
    uint32_t place = (uint32_t)hs_mix(key) & mask;
    while (map->keys[place] && map->keys[place] != key) place = (place + 1) & mask;
    return place;
}

uint32_t *
rb_hs_map_find(const struct hs_map *map, uint64_t key)
{
    if (!map->count) return NULL;
    uint32_t place = place_of(map, key);
    return map->keys[place] ? &map->values[place] : NULL;
}

static bool
grow_map(struct hs_map *map)
{
    struct hs_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .use = map->use};

    bigger.keys = rb_hs_calloc(map->use, bigger.capacity, sizeof(*bigger.keys));
    bigger.values = rb_hs_malloc(map->use, bigger.capacity * sizeof(*bigger.values));
    if (!bigger.keys || !bigger.values) {
        rb_hs_map_free(&bigger);
        return false;
    }
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (!map->keys[i]) continue;
        uint32_t place = place_of(&bigger, map->keys[i]);
        bigger.keys[place] = map->keys[i];
        bigger.values[place] = map->values[i];
    }
    bigger.count = map->count;
    rb_hs_map_free(map);
    *map = bigger;
    return true;
}

bool
rb_hs_map_put(struct hs_map *map, uint64_t key, uint32_t value)
{
    if ((uint64_t)map->count * 2 >= map->capacity && !grow_map(map)) return false;
    uint32_t place = place_of(map, key);
    if (!map->keys[place]) map->count++;
    map->keys[place] = key;
    map->values[place] = value;
    return true;
}

void
rb_hs_map_clear(struct hs_map *map)
{
    if (map->count) memset(map->keys, 0, map->capacity * sizeof(*map->keys));
    map->count = 0;
}

void
rb_hs_map_free(struct hs_map *map)
{
    rb_hs_free(map->use, map->keys);
    rb_hs_free(map->use, map->values);
    map->keys = NULL;
    map->values = NULL;
    map->capacity = map->count = 0;
}

bool
rb_hs_grow(enum hs_memory_use use, void **array, uint32_t *capacity, uint64_t count, size_t size)
{
    if (count <= *capacity) return true;
    uint64_t wanted = *capacity ? *capacity : 4;
    while (wanted < count) wanted *= 2;
    if (wanted > UINT32_MAX) return false;
    void *grown = rb_hs_realloc(use, *array, wanted * size);
    if (!grown) return false;
    *array = grown;
    *capacity = (uint32_t)wanted;
    return true;
}

static void
swap(char *a, char *b, size_t size)
{
    char bytes[64];
    for (size_t step; size; size -= step, a += step, b += step) {
        step = size < sizeof(bytes) ? size : sizeof(bytes);
        memcpy(bytes, a, step);
        memcpy(a, b, step);
        memcpy(b, bytes, step);
    }
}

/* Heapsort: what is at `parent` sinks below its larger children. */
static void
sink(char *array, size_t parent, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t child; (child = parent * 2 + 1) < count; parent = child) {
        if (child + 1 < count && compare(array + child * size, array + (child + 1) * size) < 0) child++;
        if (compare(array + parent * size, array + child * size) >= 0) return;
        swap(array + parent * size, array + child * size, size);
    }
}

void
rb_hs_sort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t i = count / 2; i-- > 0;) sink(array, i, count, size, compare);
    for (size_t end = count; end-- > 1;) {
        swap(array, (char *)array + end * size, size);
        sink(array, 0, end, size, compare);
    }
}
