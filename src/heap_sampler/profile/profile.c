/*
 * What a profile does by itself.
 */
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

#include <string.h>

double
rb_hs_row_resident(const struct hs_row *row)
{
    return row->malloced ? row->resident : row->inuse.space;
}

static void
add_share(struct hs_share *sum, const struct hs_share *one)
{
    sum->space += one->space;
    sum->variance += one->variance;
}

void
rb_hs_row_add(struct hs_row *sum, const struct hs_row *row)
{
    if (sum->thread != row->thread) sum->thread = 0;
    rb_hs_estimate_add(&sum->inuse, &row->inuse);
    rb_hs_estimate_add(&sum->young, &row->young);
    rb_hs_estimate_add(&sum->alloc, &row->alloc);
    rb_hs_estimate_add(&sum->dead, &row->dead);
    sum->dead_gcs += row->dead_gcs;
    sum->resident += row->resident;
    add_share(&sum->holds_free, &row->holds_free);
    sum->holds_free_pinned += row->holds_free_pinned;
    add_share(&sum->unshared, &row->unshared);
    sum->unshared_born += row->unshared_born;
    sum->memsize += row->memsize;
}

static bool
same_line_p(const struct hs_frame *a, const struct hs_frame *b)
{
    return a->line == b->line && a->path == b->path;
}

uint32_t
rb_hs_frame_with_line(const struct hs_profile *profile, uint32_t node)
{
    while (node && !profile->frames[profile->nodes[node].frame].line) node = profile->nodes[node].parent;
    if (!node) return UINT32_MAX;
    uint32_t frame = profile->nodes[node].frame;
    while ((node = profile->nodes[node].parent) && same_line_p(&profile->frames[profile->nodes[node].frame], &profile->frames[frame])) {
        frame = profile->nodes[node].frame;
    }
    return frame;
}

void
rb_hs_pin_add(struct hs_pin *sum, const struct hs_pin *one)
{
    sum->samples += one->samples;
    sum->objects += one->objects;
    add_share(&sum->free, &one->free);
}

bool
rb_hs_profile_own_texts(struct hs_profile *profile, uint32_t from)
{
    size_t size = 0, at = 0;
    if (profile->own_bytes) from = profile->own_from;
    for (uint32_t i = from; i < profile->text_count; i++) size += profile->texts[i].len;
    char *bytes = rb_hs_malloc(HS_MEM_SNAPSHOTS, size);
    if (!bytes) return false;
    for (uint32_t i = from; i < profile->text_count; i++) {
        struct hs_text *text = &profile->texts[i];
        text->ptr = memcpy(bytes + at, text->ptr, text->len);
        at += text->len;
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->own_bytes);
    profile->own_bytes = bytes;
    profile->own_from = from;
    return true;
}

/* The arrays go, the struct stays (it may be part of another, or on a C
 * stack) and is empty: a second call does no harm. */
void
rb_hs_profile_free(struct hs_profile *profile)
{
    if (!profile) return;
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->meta.census.places);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->meta.census.paths);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->samples.list);
    rb_hs_map_free(&profile->samples.by_id);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->rows);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->frames);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->texts);
    rb_hs_texts_release(profile->names);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->label_bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->own_bytes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->mappings);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->kept);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->pins);
    rb_hs_holders_free(&profile->holders);
    memset(profile, 0, sizeof(*profile));
}
