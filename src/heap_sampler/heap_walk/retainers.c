/* See heap_walk/retainers.h. */
#include "heap_sampler/heap_walk/retainers.h"

#include <math.h>
#include <sys/mman.h>

const char *const rb_hs_top_names[HS_TOP_COUNT] = {
#define HS_TOP(top, name) [HS_TOP_##top] = name,
    HS_TOPS(HS_TOP)
#undef HS_TOP
};

const char *
rb_hs_refusal_text(enum hs_refusal refusal)
{
    static const char *const texts[HS_REFUSAL_COUNT] = {
#define HS_REFUSAL(refusal, text) [HS_REFUSED_##refusal] = text,
        HS_REFUSALS(HS_REFUSAL)
#undef HS_REFUSAL
    };
    return texts[refusal];
}

static size_t
size_of_found(uint32_t samples)
{
    return sizeof(struct hs_found) + samples * sizeof(struct hs_found_sample);
}

/* Memory and no file: the thread that reads the answer has other descriptors than the thread that forks (base/report.h). */
struct hs_found *
rb_hs_found_map(uint32_t samples)
{
    void *found = mmap(NULL, size_of_found(samples), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

void
rb_hs_found_unmap(struct hs_found *found, uint32_t samples)
{
    if (found) munmap(found, size_of_found(samples));
}

void
rb_hs_retainers_free(struct hs_retainers *retainers)
{
    rb_hs_found_unmap(retainers->found, retainers->samples);
    retainers->found = NULL;
    retainers->nodes = NULL;
    retainers->node_count = 0;
}

static bool
counts_good_p(const struct hs_found *found)
{
    return found->node_count >= HS_TOP_COUNT && found->node_count <= HS_NODES_MOST && found->text_count && found->text_count <= HS_TEXTS_MOST &&
        found->byte_count <= HS_TEXT_BYTES_MOST && found->freed_count <= HS_FREED_MOST;
}

static bool
text_good_p(const struct hs_found *found, const struct hs_text *text)
{
    uintptr_t at = (uintptr_t)text->ptr - (uintptr_t)found->bytes;
    return !text->len || (at <= found->byte_count && text->len <= found->byte_count - at);
}

static bool
node_good_p(const struct hs_found *found, uint32_t number)
{
    const struct hs_retainer *node = &found->nodes[number];
    uint32_t texts = found->text_count;
    if (number < HS_TOP_COUNT ? node->parent != number : node->parent >= number) return false;
    return node->kind < texts && node->name < texts && node->klass < texts && node->path < texts && node->bound < texts;
}

static bool
sample_good_p(const struct hs_found *found, const struct hs_found_sample *sample)
{
    return sample->node < found->node_count && sample->pins.pin < found->node_count && sample->pins.holder < found->node_count;
}

static bool
amount_p(double number)
{
    return isfinite(number) && number >= 0;
}

static bool
freed_good_p(const struct hs_found *found, const struct hs_freed *freed)
{
    return freed->node < found->node_count && amount_p(freed->objects) && amount_p(freed->space) && amount_p(freed->variance);
}

static bool
found_good_p(const struct hs_found *found, uint32_t samples)
{
    bool good = counts_good_p(found) && !found->texts[0].len;
    for (uint32_t i = 0; good && i < found->text_count; i++) good = text_good_p(found, &found->texts[i]);
    for (uint32_t i = 0; good && i < found->node_count; i++) good = node_good_p(found, i);
    for (uint32_t i = 0; good && i < samples; i++) good = sample_good_p(found, &found->samples[i]);
    for (uint32_t i = 0; good && i < found->freed_count; i++) good = freed_good_p(found, &found->freed[i]);
    return good;
}

void
rb_hs_found_check(struct hs_found *found, uint32_t samples, struct hs_retainers *into)
{
    into->figures = found->figures;
    into->refusal = found_good_p(found, samples) ? HS_REFUSED_NONE : HS_REFUSED_BROKEN;
    if (into->refusal) return;
    into->found = found;
    into->samples = samples;
    into->nodes = found->nodes;
    into->node_count = found->node_count;
}
