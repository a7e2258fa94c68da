/* See profile/label_texts.h. */
#include "heap_sampler/profile/label_texts.h"
#include "heap_sampler/base/memory.h"

const uint32_t *
rb_hs_profile_labels_add(struct hs_profile *profile, struct hs_profile_labels *labels)
{
    static const struct hs_text nothing = {"", 0};
    const struct hs_text *texts = labels->copied.texts; /* NULL: of a process that has set none */
    uint32_t count = texts ? HS_LABEL_NUMBERS : 1;
    labels->numbers = rb_hs_calloc(HS_MEM_SNAPSHOTS, HS_LABEL_NUMBERS, sizeof(*labels->numbers));
    struct hs_text *all = rb_hs_realloc(HS_MEM_SNAPSHOTS, profile->texts, ((size_t)profile->text_count + count) * sizeof(*all));
    if (all) profile->texts = all;
    if (!labels->numbers || !all) return NULL;
    /* The first text is any, or there is none yet: what has no labels has a text of its own. */
    for (uint32_t i = 0; i < HS_LABEL_NUMBERS; i++) labels->numbers[i] = profile->text_count;
    all[profile->text_count++] = nothing;
    for (uint32_t i = 1; texts && i < HS_LABEL_NUMBERS; i++) {
        if (!texts[i].len) continue;
        labels->numbers[i] = profile->text_count;
        all[profile->text_count++] = texts[i];
    }
    profile->label_bytes = labels->copied.bytes;
    labels->copied.bytes = NULL;
    return labels->numbers;
}

void
rb_hs_profile_labels_free(struct hs_profile_labels *labels)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, labels->copied.bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, labels->copied.texts);
    rb_hs_free(HS_MEM_SNAPSHOTS, labels->numbers);
    *labels = (struct hs_profile_labels){.numbers = NULL};
}
