/* See labels/label_sets.h. */
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"

#include <string.h>

/* Of all texts together, whatever the bound of own memory. */
enum { BYTES_MAX = 256 << 10 };

struct label_set {
    char *text;                 /* NULL: the number is free */
    uint32_t len;
    uint32_t pins;              /* atomic */
    uint32_t since;             /* era */
};

static struct label_set sets[HS_LABEL_NUMBERS];
static struct hs_map sets_by_text = {.use = HS_MEM_NAMES};
static uint32_t set_count, next_free = 1;
static size_t bytes;
static uint64_t refused;
/* It ends while no other Ractor runs (labels/reclaim.c). */
static uint32_t era = 1;

static uint64_t
hash_text(const char *text, size_t len)
{
    uint64_t hash = hs_mix(len + 1);
    for (size_t at = 0; at < len; at += sizeof(hash)) {
        uint64_t word = 0;
        memcpy(&word, text + at, len - at < sizeof(word) ? len - at : sizeof(word));
        hash = hs_mix(hash ^ word);
    }
    return hash ? hash : 1;
}

/* The set's number; 0: there is none, and *key is free for it. */
static uint32_t
find_set(const char *text, size_t len, uint64_t *key)
{
    for (*key = hash_text(text, len);; *key = *key == UINT64_MAX ? 1 : *key + 1) {
        const uint32_t *found = rb_hs_map_find(&sets_by_text, *key);
        if (!found) return 0;
        const struct label_set *set = &sets[*found];
        if (set->len == len && memcmp(set->text, text, len) == 0) return *found;
    }
}

static bool
room_for(size_t len)
{
    return set_count < HS_LABEL_SETS_MAX && bytes + len <= BYTES_MAX;
}

bool
rb_hs_label_set_fits_p(const char *text, size_t len)
{
    HS_CONTRACT(read);
    uint64_t key;
    return !len || room_for(len) || find_set(text, len, &key);
}

static uint32_t
add_set(const char *text, size_t len, uint64_t key)
{
    if (!room_for(len)) return 0;
    while (sets[next_free].text) next_free++;
    struct label_set set = {.text = rb_hs_malloc(HS_MEM_NAMES, len), .len = (uint32_t)len, .since = era};
    if (!set.text || !rb_hs_map_put(&sets_by_text, key, next_free)) {
        rb_hs_free(HS_MEM_NAMES, set.text);
        return 0;
    }
    memcpy(set.text, text, len);
    sets[next_free] = set;
    set_count++;
    bytes += len;
    return next_free;
}

uint16_t
rb_hs_label_set(const char *text, size_t len)
{
    HS_CONTRACT(write);
    uint64_t key;
    if (!len) return HS_LABELS_NONE;
    uint32_t number = find_set(text, len, &key);
    if (!number) number = add_set(text, len, key);
    if (number) return (uint16_t)number;
    refused++;
    return HS_LABELS_OTHER;
}

struct hs_text
rb_hs_label_set_text(uint16_t number)
{
    HS_CONTRACT(read);
    const struct label_set *set = &sets[number];
    return set->text ? (struct hs_text){set->text, set->len} : (struct hs_text){"", 0};
}

uint32_t
rb_hs_label_sets_era(void)
{
    return era;
}

bool
rb_hs_label_set_is_of_era(uint16_t number, uint32_t then)
{
    HS_CONTRACT(read);
    const struct label_set *set = &sets[number];
    return number == HS_LABELS_NONE || number == HS_LABELS_OTHER || (set->text && set->since <= then);
}

void
rb_hs_label_set_pin(uint16_t number)
{
    __atomic_add_fetch(&sets[number].pins, 1, __ATOMIC_SEQ_CST);
}

void
rb_hs_label_set_unpin(uint16_t number)
{
    __atomic_sub_fetch(&sets[number].pins, 1, __ATOMIC_SEQ_CST);
}

void
rb_hs_label_sets_see_pinned(bool used[HS_LABEL_NUMBERS])
{
    for (uint32_t i = 0; i < HS_LABEL_NUMBERS; i++) {
        if (__atomic_load_n(&sets[i].pins, __ATOMIC_SEQ_CST)) used[i] = true;
    }
}

/* The map forgets nothing by itself. */
static void
index_sets(void)
{
    rb_hs_map_clear(&sets_by_text);
    for (uint32_t i = 1; i <= HS_LABEL_SETS_MAX; i++) {
        uint64_t key;
        if (!sets[i].text || find_set(sets[i].text, sets[i].len, &key)) continue;
        rb_hs_map_put(&sets_by_text, key, i);
    }
}

uint32_t
rb_hs_label_sets_free(const bool gone[HS_LABEL_NUMBERS])
{
    HS_CONTRACT(write);
    uint32_t before = set_count;
    for (uint32_t i = 1; i <= HS_LABEL_SETS_MAX; i++) {
        if (!gone[i] || !sets[i].text) continue;
        rb_hs_free(HS_MEM_NAMES, sets[i].text);
        bytes -= sets[i].len;
        set_count--;
        sets[i] = (struct label_set){.text = NULL};
    }
    index_sets();
    next_free = 1;
    if (set_count < before) era++;
    return before - set_count;
}

struct hs_label_sets_stat
rb_hs_label_sets_stat(void)
{
    return (struct hs_label_sets_stat){set_count, refused};
}

static bool
any_p(void)
{
    return set_count || refused;
}

size_t
rb_hs_label_sets_snapshot_bytes(void)
{
    enum { EACH = 2 * sizeof(struct hs_text) + sizeof(uint32_t) };
    return any_p() ? bytes + HS_LABEL_NUMBERS * EACH : HS_LABEL_NUMBERS * sizeof(uint32_t);
}

bool
rb_hs_label_sets_copy(struct hs_label_texts *copy)
{
    HS_CONTRACT(read);
    static const char other[] = HS_LABELS_OTHER_KEY "=" HS_LABELS_OTHER_VALUE;
    *copy = (struct hs_label_texts){NULL, NULL};
    if (!any_p()) return true;
    copy->bytes = rb_hs_malloc(HS_MEM_SNAPSHOTS, bytes + 1);
    copy->texts = rb_hs_calloc(HS_MEM_SNAPSHOTS, HS_LABEL_NUMBERS, sizeof(*copy->texts));
    if (!copy->bytes || !copy->texts) return false;
    size_t at = 0;
    for (uint32_t i = 1; i <= HS_LABEL_SETS_MAX; i++) {
        if (!sets[i].text) continue;
        memcpy(copy->bytes + at, sets[i].text, sets[i].len);
        copy->texts[i] = (struct hs_text){copy->bytes + at, sets[i].len};
        at += sets[i].len;
    }
    copy->texts[HS_LABELS_OTHER] = (struct hs_text){other, sizeof(other) - 1};
    return true;
}
