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

static uint32_t
add_set(struct hs_text text, uint64_t key)
{
    uint32_t number = rb_hs_label_set_count + 1;
    if (rb_hs_label_set_count == HS_LABEL_SETS_MAX || bytes + text.len > BYTES_MAX) return HS_LABELS_OTHER;
    char *copy = rb_hs_malloc(HS_MEM_NAMES, text.len);
    if (!copy || !rb_hs_map_put(&sets_by_text, key, number)) {
        rb_hs_free(HS_MEM_NAMES, copy);
        return HS_LABELS_OTHER;
    }
    sets[number] = (struct hs_text){memcpy(copy, text.ptr, text.len), text.len};
    rb_hs_label_set_count = number;
    bytes += text.len;
    return number;
}

uint16_t
rb_hs_label_set(const char *text, size_t len)
{
    HS_CONTRACT(write);
    if (!len) return HS_LABELS_NONE;
    struct hs_text set = {text, (uint32_t)len};
    uint64_t key;
    uint32_t number = rb_hs_text_find(&sets_by_text, sets, set, &key);
    if (!number) number = add_set(set, key);
    if (number == HS_LABELS_OTHER) rb_hs_label_sets_refused++;
    return (uint16_t)number;
}

struct hs_text
rb_hs_label_set_text(uint16_t number)
{
    HS_CONTRACT(read);
    return sets[number].ptr ? sets[number] : sets[HS_LABELS_NONE];
}
