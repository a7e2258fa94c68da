/*
 * What a profile does by itself.
 */
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/base/memory.h"

#include <string.h>

_Static_assert(sizeof(struct hs_row) <= HS_SNAPSHOT_ROW, "raise HS_SNAPSHOT_ROW (store/store.h): the kernel keeps room for snapshots");

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
#define ESTIMATE(name, field) rb_hs_estimate_add(&sum->name, &row->name);
#define SHARE(name, field) add_share(&sum->name, &row->name);
#define SUM(name, field, absent) sum->name += row->name;
    HS_ROW_FIGURES(ESTIMATE, SHARE, SUM)
}

/* Code inside MRI (<internal:…>) has lines that readers skip. */
static bool
own_line_p(const struct hs_profile *profile, uint32_t node)
{
    static const char internal[] = "<internal:";
    const struct hs_frame *frame = &profile->frames[profile->nodes[node].frame];
    struct hs_text path = profile->texts[frame->path];
    return frame->line && !(path.len >= sizeof(internal) - 1 && memcmp(path.ptr, internal, sizeof(internal) - 1) == 0);
}

/* Readers put what a file takes to be compiled down to the line that asked for the file. */
static bool
loads_p(const struct hs_profile *profile, uint32_t frame)
{
    static const char *const labels[] = {"Kernel#require", "Kernel.require", "Kernel#require_relative", "Kernel#load", "Kernel.load"};
    struct hs_text label = profile->texts[profile->frames[frame].label];
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
        if (label.len == strlen(labels[i]) && memcmp(label.ptr, labels[i], label.len) == 0) return true;
    }
    return false;
}

uint32_t
rb_hs_frame_with_line(const struct hs_profile *profile, uint32_t node)
{
    for (;;) {
        while (node && !own_line_p(profile, node)) node = profile->nodes[node].parent;
        if (!node) return UINT32_MAX;
        uint32_t frame = profile->nodes[node].frame;
        while ((node = profile->nodes[node].parent)) {
            const struct hs_frame *below = &profile->frames[profile->nodes[node].frame], *line = &profile->frames[frame];
            if (below->line != line->line || below->path != line->path) break;
            frame = profile->nodes[node].frame;
        }
        if (!loads_p(profile, frame)) return frame;
    }
}

uint32_t
rb_hs_frame_of_label(const struct hs_profile *profile, const char *label)
{
    size_t len = strlen(label);
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct hs_frame *frame = &profile->frames[i];
        struct hs_text text = profile->texts[frame->label];
        bool alone = !frame->address && !frame->line && !profile->texts[frame->path].len;
        if (alone && text.len == len && memcmp(text.ptr, label, len) == 0) return i;
    }
    return UINT32_MAX;
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
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->rows);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->frames);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->texts);
    rb_hs_texts_release(profile->names);
    rb_hs_texts_release(profile->native_names);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->mappings);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->kept);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->pins);
    rb_hs_retainers_free(&profile->retainers);
    memset(profile, 0, sizeof(*profile));
}
