/* See profile/kept.h. */
#include "heap_sampler/profile/kept.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/kept_chain.h"
#include "heap_sampler/profile/pins.h"

#include <inttypes.h>
#include <string.h>

bool
rb_hs_kept_begin(struct hs_profile *profile, size_t samples)
{
    profile->kept_count = 0;
    profile->kept = rb_hs_malloc(HS_MEM_SNAPSHOTS, samples * sizeof(*profile->kept) + 1);
    return profile->kept != NULL;
}

void
rb_hs_kept_add(struct hs_profile *profile, size_t row, uint32_t node, const struct hs_estimate *one)
{
    profile->kept[profile->kept_count++] = (struct hs_kept){(uint32_t)row, node, one->objects, one->space, one->variance};
}

static int
compare_kept(const void *left, const void *right)
{
    const struct hs_kept *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return 0;
}

/* Sorted ones. */
static void
join(struct hs_profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->kept_count; i++) {
        const struct hs_kept *one = &profile->kept[i];
        struct hs_kept *sum = &profile->kept[count ? count - 1 : 0];
        if (!i || compare_kept(sum, one) != 0) {
            profile->kept[count++] = *one;
            continue;
        }
        sum->objects += one->objects;
        sum->space += one->space;
        sum->variance += one->variance;
    }
    profile->kept_count = count;
}

/* The texts of the nodes become the profile's; the nodes lead to them there. */
static bool
add_texts(struct hs_profile *profile)
{
    struct hs_holders *holders = &profile->holders;
    uint32_t base = profile->text_count - 1;    /* text 0 is empty in both */
    struct hs_text *texts = rb_hs_realloc(HS_MEM_SNAPSHOTS, profile->texts,
                                          ((size_t)profile->text_count + holders->text_count) * sizeof(*texts));
    if (!texts) return false;
    profile->texts = texts;
    for (uint32_t i = 1; i < holders->text_count; i++) {
        texts[profile->text_count++] = (struct hs_text){holders->bytes + holders->texts[i].at, holders->texts[i].len};
    }
    for (uint32_t i = 0; i < holders->node_count; i++) {
        struct hs_holder *node = &holders->nodes[i];
        node->kind += node->kind ? base : 0;
        node->name += node->name ? base : 0;
        node->klass += node->klass ? base : 0;
        node->path += node->path ? base : 0;
    }
    return true;
}

bool
rb_hs_kept_end(struct hs_profile *profile)
{
    if (!add_texts(profile)) return false;
    rb_hs_sort(profile->kept, profile->kept_count, sizeof(*profile->kept), compare_kept);
    join(profile);
    return true;
}

static void
append_text_or_null(struct hs_buffer *out, const char *name, const char *text)
{
    rb_hs_buffer_printf(out, "\"%s\":", name);
    if (*text) rb_hs_append_json(out, rb_hs_text_of(text));
    else rb_hs_buffer_puts(out, "null");
    rb_hs_buffer_puts(out, ",");
}

/* Where the code stands that has the reference; an empty path: in no code. */
static void
append_place(struct hs_buffer *out, const struct hs_profile *profile, const struct hs_holder *node)
{
    rb_hs_buffer_puts(out, ",\"path\":");
    rb_hs_append_json(out, profile->texts[node->path]);
    rb_hs_buffer_printf(out, ",\"line\":%u", node->line);
}

static void
append_freed(struct hs_buffer *out, const struct hs_profile *profile)
{
    rb_hs_buffer_puts(out, "\"freed\":[");
    for (uint32_t i = 0; i < profile->holders.freed_count; i++) {
        const struct hs_freed *freed = &profile->holders.freed[i];
        rb_hs_buffer_printf(out, "%s{\"chain\":[", i ? "," : "");
        rb_hs_append_chain(out, profile, freed->node);
        rb_hs_buffer_puts(out, "]");
        append_place(out, profile, &profile->holders.nodes[freed->node]);
        rb_hs_buffer_printf(out, ",\"objects\":%.0f,\"space\":%.0f,\"var\":%.0f}", freed->objects, freed->space, freed->variance);
    }
    rb_hs_buffer_puts(out, "],");
}

/* What is reached through a node and those below it. */
static double
space_below(const struct hs_profile *profile, uint32_t top)
{
    double space = 0;
    for (size_t i = 0; i < profile->kept_count; i++) {
        uint32_t node = profile->kept[i].node;
        while (node > top) node = profile->holders.nodes[node].parent;
        if (node == top) space += profile->kept[i].space;
    }
    return space;
}

/* Threads by the line where they wait. */
static void
append_stuck(struct hs_buffer *out, const struct hs_profile *profile)
{
    const struct hs_holders *holders = &profile->holders;
    const char *separator = "";
    rb_hs_buffer_puts(out, "\"stuck\":[");
    for (uint32_t i = HS_TOP_COUNT; i < holders->node_count; i++) {
        const struct hs_holder *node = &holders->nodes[i];
        if (node->parent != HS_TOP_STUCK) continue;
        rb_hs_buffer_printf(out, "%s{\"name\":", separator);
        rb_hs_append_json(out, profile->texts[node->name]);
        append_place(out, profile, node);
        rb_hs_buffer_printf(out, ",\"threads\":%u,\"space\":%.0f}", node->objects, space_below(profile, i));
        separator = ",";
    }
    rb_hs_buffer_puts(out, "],");
}

bool
rb_hs_kept_describe(struct hs_profile *profile)
{
    const struct hs_holders *holders = &profile->holders;
    const struct hs_holder_figures *figures = &holders->figures;
    struct hs_buffer json = {0};
    rb_hs_buffer_puts(&json, "{");
    append_text_or_null(&json, "refused", rb_hs_refusal_text(holders->refusal));
    append_text_or_null(&json, "ended_in", holders->type);
    rb_hs_buffer_printf(&json, "\"signal\":%d,\"objects\":%" PRIu64 ",\"edges\":%" PRIu64 ",\"slots\":%" PRIu64 ",", holders->signal,
                        figures->objects, figures->edges, figures->slots);
    append_freed(&json, profile);
    append_stuck(&json, profile);
    rb_hs_pins_describe(&json, profile);
    rb_hs_buffer_printf(&json, "\"without_ns\":%" PRIu64 ",", figures->without_ns);
    rb_hs_buffer_printf(&json, "\"hold_up_ns\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"walk_ns\":%" PRIu64 ",\"name_ns\":%" PRIu64 ",",
                        holders->hold_up_ns, holders->ns, figures->walk_ns, figures->name_ns);
    rb_hs_buffer_printf(&json, "\"estimate_bytes\":%" PRIu64 ",\"child_bytes\":%" PRIu64 ",\"evicted\":%" PRIu64 "}", holders->estimate,
                        figures->child_bytes, figures->evicted);
    rb_hs_buffer_append(&json, "", 1);
    bool ok = !json.failed && rb_hs_profile_add_meta(profile, "kept", json.ptr);
    rb_hs_buffer_free(&json);
    return ok;
}
