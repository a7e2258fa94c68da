/* See store/label_sets.h. */
#include "heap_sampler/store/label_sets.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/contract.h"
#include "heap_sampler/base/table.h"

#include <string.h>

/* Of all texts together, whatever the bound of own memory. */
enum { BYTES_MAX = 256 << 10 };

static struct hs_text sets[HS_LABEL_NUMBERS] = {{"", 0}, [HS_LABELS_OTHER] = {HS_LABELS_OTHER_TEXT, sizeof(HS_LABELS_OTHER_TEXT) - 1}};
static struct hs_map sets_by_text = {.use = HS_MEM_NAMES};
static size_t bytes = sizeof(HS_LABELS_OTHER_TEXT) - 1;
uint32_t rb_hs_label_set_count;
uint64_t rb_hs_label_sets_refused;

/* 0: there is none, and *key is free for it. */
static uint32_t
find_set(const char *text, size_t len, uint64_t *key)
{
    for (*key = rb_hs_hash(text, len);; *key = *key == UINT64_MAX ? 1 : *key + 1) {
        const uint32_t *found = rb_hs_map_find(&sets_by_text, *key);
        if (!found) return 0;
        if (sets[*found].len == len && memcmp(sets[*found].ptr, text, len) == 0) return *found;
    }
}

static uint32_t
add_set(const char *text, size_t len, uint64_t key)
{
    uint32_t number = rb_hs_label_set_count + 1;
    if (rb_hs_label_set_count == HS_LABEL_SETS_MAX || bytes + len > BYTES_MAX) return HS_LABELS_OTHER;
    char *copy = rb_hs_malloc(HS_MEM_NAMES, len);
    if (!copy || !rb_hs_map_put(&sets_by_text, key, number)) {
        rb_hs_free(HS_MEM_NAMES, copy);
        return HS_LABELS_OTHER;
    }
    sets[number] = (struct hs_text){memcpy(copy, text, len), (uint32_t)len};
    rb_hs_label_set_count = number;
    bytes += len;
    return number;
}

uint16_t
rb_hs_label_set(const char *text, size_t len)
{
    HS_CONTRACT(write);
    uint64_t key;
    if (!len) return HS_LABELS_NONE;
    uint32_t number = find_set(text, len, &key);
    if (!number) number = add_set(text, len, key);
    if (number == HS_LABELS_OTHER) rb_hs_label_sets_refused++;
    return (uint16_t)number;
}

struct hs_text
rb_hs_label_set_text(uint16_t number)
{
    HS_CONTRACT(read);
    return sets[number].ptr ? sets[number] : sets[HS_LABELS_NONE];
}

size_t
rb_hs_label_sets_snapshot_bytes(void)
{
    return bytes + HS_LABEL_NUMBERS * sizeof(struct hs_text);
}

bool
rb_hs_label_sets_copy(struct hs_text texts[HS_LABEL_NUMBERS], char **copied)
{
    HS_CONTRACT(read);
    char *to = *copied = rb_hs_malloc(HS_MEM_SNAPSHOTS, bytes);
    for (uint32_t i = 0; to && i < HS_LABEL_NUMBERS; i++) {
        texts[i] = (struct hs_text){to, sets[i].len};
        if (sets[i].len) memcpy(to, sets[i].ptr, sets[i].len);
        to += sets[i].len;
    }
    return to;
}
