/* See profile/delta.h. */
#include "heap_sampler/profile/delta.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/encode.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- what makes rows, and stacks, the same: their texts, not their numbers ----------------------- */

struct key {
    uint64_t hash;
};

static void
add_word(struct key *key, uint64_t word)
{
    key->hash = hs_mix(key->hash * UINT64_C(0x9e3779b97f4a7c15) + word + 1);
}

static void
add_text(struct key *key, const struct hs_profile *profile, uint32_t number)
{
    const struct hs_text *text = &profile->texts[number];
    uint64_t word = 0;
    for (uint32_t i = 0; i < text->len; i++) {
        word = word << 8 | (unsigned char)text->ptr[i];
        if (i % 8 == 7) add_word(key, word);
    }
    add_word(key, word);
    add_word(key, text->len);
}

static void
add_frame(struct key *key, const struct hs_profile *profile, uint32_t number)
{
    const struct hs_frame *frame = &profile->frames[number];
    add_text(key, profile, frame->label);
    add_text(key, profile, frame->path);
    add_text(key, profile, frame->absolute_path);
    add_word(key, frame->line);
    add_word(key, frame->address);
}

/* Of each frame, then of each node, whose parent may stand behind it: 0 where it is not known yet. */
struct keys {
    uint64_t *frames, *nodes;
};

static bool
hash_frames(struct keys *keys, const struct hs_profile *profile)
{
    keys->frames = rb_hs_calloc(HS_MEM_SNAPSHOTS, profile->frame_count, sizeof(*keys->frames));
    keys->nodes = rb_hs_calloc(HS_MEM_SNAPSHOTS, profile->node_count + 1, sizeof(*keys->nodes));
    if (!keys->frames || !keys->nodes) return false;
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        struct key key = {0};
        add_frame(&key, profile, i);
        keys->frames[i] = key.hash;
    }
    return true;
}

static uint64_t
hash_of_node(struct keys *keys, const struct hs_profile *profile, uint32_t node)
{
    struct key key = {0};
    if (keys->nodes[node]) return keys->nodes[node];
    for (uint32_t at = node; at; at = profile->nodes[at].parent) add_word(&key, keys->frames[profile->nodes[at].frame]);
    return keys->nodes[node] = key.hash | 1;
}

static void
free_keys(struct keys *keys)
{
    rb_hs_free(HS_MEM_SNAPSHOTS, keys->frames);
    rb_hs_free(HS_MEM_SNAPSHOTS, keys->nodes);
}

static uint64_t
hash_of_row(struct keys *keys, const struct hs_profile *profile, const struct hs_row *row)
{
    struct key key = {0};
    add_word(&key, hash_of_node(keys, profile, row->node));
    add_text(&key, profile, row->library);
    add_text(&key, profile, row->class_name);
    add_text(&key, profile, row->type);
    add_word(&key, (uint64_t)row->slot_size << 2 | (uint64_t)row->malloced << 1 | row->has_birth);
    add_word(&key, row->thread);
    add_word(&key, row->birth_gc);
    return key.hash | 1;
}

/* -- what is subtracted ------------------------------------------------------------------------------ */

static void
subtract(struct hs_estimate *from, const struct hs_estimate *what)
{
    from->samples = from->samples > what->samples ? from->samples - what->samples : what->samples - from->samples;
    from->objects -= what->objects;
    from->space -= what->space;
    from->variance = fabs(from->variance - what->variance);
}

static void
subtract_share(struct hs_share *from, const struct hs_share *what)
{
    from->space -= what->space;
    from->variance = fabs(from->variance - what->variance);
}

static void
subtract_row(struct hs_row *from, const struct hs_row *what)
{
    subtract(&from->inuse, &what->inuse);
    subtract(&from->young, &what->young);
    subtract(&from->alloc, &what->alloc);
    subtract(&from->dead, &what->dead);
    from->dead_gcs -= what->dead_gcs;
    from->resident -= what->resident;
    subtract_share(&from->holds_free, &what->holds_free);
    from->holds_free_pinned -= what->holds_free_pinned;
    subtract_share(&from->unshared, &what->unshared);
    from->unshared_born -= what->unshared_born;
    from->memsize -= what->memsize;
}

static bool
estimate_changed_p(const struct hs_estimate *change)
{
    return change->samples || fabs(change->objects) >= 0.5 || fabs(change->space) >= 0.5;
}

static bool
changed_p(const struct hs_row *row)
{
    return estimate_changed_p(&row->inuse) || estimate_changed_p(&row->young) || estimate_changed_p(&row->alloc) ||
        estimate_changed_p(&row->dead) || fabs(row->dead_gcs) >= 0.5 || fabs(rb_hs_row_resident(row)) >= 0.5 ||
        fabs(row->holds_free.space) >= 0.5 || fabs(row->unshared.space) >= 0.5;
}

/* -- rows of the first that the second does not have ------------------------------------------------------ */

struct merge {
    struct hs_profile *to;
    const struct hs_profile *from;
    struct keys to_keys, from_keys;
    struct hs_map rows, nodes;  /* of `to`, by their hashes; rows of one hash that differ are added up */
    uint32_t *texts, *frames;   /* number in `to` of each of `from`'s that was taken over; 0: none. [1] behind the number */
    uint32_t row_capacity, node_capacity, frame_capacity, text_capacity;
};

static bool
room(void *array, uint32_t *capacity, uint32_t count, size_t size)
{
    if (*capacity < count) *capacity = count;
    return rb_hs_grow(HS_MEM_SNAPSHOTS, array, capacity, (uint64_t)count + 1, size);
}

static bool
take_text(struct merge *merge, uint32_t number, uint32_t *now)
{
    struct hs_profile *to = merge->to;
    if (!merge->texts[number]) {
        if (!room(&to->texts, &merge->text_capacity, to->text_count, sizeof(*to->texts))) return false;
        to->texts[to->text_count++] = merge->from->texts[number];
        merge->texts[number] = to->text_count;
    }
    *now = merge->texts[number] - 1;
    return true;
}

static bool
take_frame(struct merge *merge, uint32_t number, uint32_t *now)
{
    struct hs_profile *to = merge->to;
    struct hs_frame frame = merge->from->frames[number];
    if (!merge->frames[number]) {
        if (!take_text(merge, frame.label, &frame.label) || !take_text(merge, frame.path, &frame.path) || !take_text(merge, frame.absolute_path, &frame.absolute_path) ||
            !room(&to->frames, &merge->frame_capacity, to->frame_count, sizeof(*to->frames))) return false;
        to->frames[to->frame_count++] = frame;
        merge->frames[number] = to->frame_count;
    }
    *now = merge->frames[number] - 1;
    return true;
}

/* Each node stands before its parent, which the next one becomes. */
static bool
take_stack(struct merge *merge, uint32_t node, uint32_t *now)
{
    struct hs_profile *to = merge->to;
    uint64_t hash = hash_of_node(&merge->from_keys, merge->from, node);
    const uint32_t *known = rb_hs_map_find(&merge->nodes, hash);
    *now = known ? *known : node ? to->node_count
                                 : 0;
    if (known || !node) return true;
    for (uint32_t at = node; at; at = merge->from->nodes[at].parent) {
        uint32_t frame;
        if (!take_frame(merge, merge->from->nodes[at].frame, &frame) || !room(&to->nodes, &merge->node_capacity, to->node_count, sizeof(*to->nodes))) return false;
        bool last = !merge->from->nodes[at].parent;
        to->nodes[to->node_count] = (struct hs_node){last ? 0 : to->node_count + 1, frame};
        to->node_count++;
    }
    return rb_hs_map_put(&merge->nodes, hash, *now);
}

static bool
take_row(struct merge *merge, const struct hs_row *row, uint64_t hash)
{
    struct hs_profile *to = merge->to;
    struct hs_row taken = {
        .malloced = row->malloced,
        .slot_size = row->slot_size,
        .thread = row->thread,
        .has_birth = row->has_birth,
        .birth_gc = row->birth_gc,
    };
    if (!take_stack(merge, row->node, &taken.node) || !take_text(merge, row->library, &taken.library) ||
        !take_text(merge, row->class_name, &taken.class_name) || !take_text(merge, row->type, &taken.type)) return false;
    if (!room(&to->rows, &merge->row_capacity, (uint32_t)to->row_count, sizeof(*to->rows))) return false;
    if (!rb_hs_map_put(&merge->rows, hash, (uint32_t)to->row_count)) return false;
    subtract_row(&taken, row);
    to->rows[to->row_count++] = taken;
    return true;
}

/* -- all of it ----------------------------------------------------------------------------------------------- */

static bool
index_second(struct merge *merge)
{
    const struct hs_profile *to = merge->to;
    for (size_t i = 0; i < to->row_count; i++) {
        const struct hs_row *row = &to->rows[i];
        if (!rb_hs_map_put(&merge->rows, hash_of_row(&merge->to_keys, to, row), (uint32_t)i)) return false;
        if (!rb_hs_map_put(&merge->nodes, hash_of_node(&merge->to_keys, to, row->node), row->node)) return false;
    }
    return true;
}

static bool
subtract_first(struct merge *merge)
{
    for (size_t i = 0; i < merge->from->row_count; i++) {
        const struct hs_row *row = &merge->from->rows[i];
        uint64_t hash = hash_of_row(&merge->from_keys, merge->from, row);
        const uint32_t *known = rb_hs_map_find(&merge->rows, hash);
        if (known) subtract_row(&merge->to->rows[*known], row);
        else if (!take_row(merge, row, hash)) return false;
    }
    return true;
}

static void
drop_unchanged(struct hs_profile *profile)
{
    size_t left = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        if (changed_p(&profile->rows[i])) profile->rows[left++] = profile->rows[i];
    }
    profile->row_count = left;
}

/* Its time begins when the first was taken, and so does the account to compare with. */
static bool
describe(struct hs_profile *second, const struct hs_profile *first)
{
    char json[64];
    struct hs_profile_meta *meta = &second->meta;
    meta->started_ns = first->meta.taken_ns;
    meta->account_at_start = first->meta.account;
    snprintf(json, sizeof(json), "%.3f", (double)(meta->taken_ns - meta->started_ns) / 1e9);
    return rb_hs_profile_add_meta(second, "delta_seconds", json);
}

/* Node 0 is the empty stack. */
static bool
begin_nodes(struct merge *merge)
{
    struct hs_profile *to = merge->to;
    if (to->node_count) return true;
    if (!room(&to->nodes, &merge->node_capacity, 0, sizeof(*to->nodes))) return false;
    to->nodes[to->node_count++] = (struct hs_node){0, 0};
    return true;
}

static bool
merge_all(struct merge *merge)
{
    if (!begin_nodes(merge)) return false;
    merge->texts = rb_hs_calloc(HS_MEM_SNAPSHOTS, merge->from->text_count, sizeof(*merge->texts));
    merge->frames = rb_hs_calloc(HS_MEM_SNAPSHOTS, merge->from->frame_count, sizeof(*merge->frames));
    return merge->texts && merge->frames && hash_frames(&merge->to_keys, merge->to) && hash_frames(&merge->from_keys, merge->from) &&
        index_second(merge) && subtract_first(merge);
}

int
rb_hs_profile_subtract(struct hs_profile *second, const struct hs_profile *first)
{
    struct merge merge = {.to = second, .from = first, .rows.use = HS_MEM_SNAPSHOTS, .nodes.use = HS_MEM_SNAPSHOTS};
    if (rb_hs_profile_check(second) != 0 || rb_hs_profile_check(first) != 0) return EINVAL;
    if (second->meta.session != first->meta.session || second->meta.process_start != first->meta.process_start) return ESTALE;
    uint32_t texts = second->text_count;
    bool ok = merge_all(&merge) && rb_hs_profile_own_texts(second, texts);
    rb_hs_free(HS_MEM_SNAPSHOTS, merge.texts);
    rb_hs_free(HS_MEM_SNAPSHOTS, merge.frames);
    free_keys(&merge.to_keys);
    free_keys(&merge.from_keys);
    rb_hs_map_free(&merge.rows);
    rb_hs_map_free(&merge.nodes);
    if (!ok) return ENOMEM;
    drop_unchanged(second);
    return describe(second, first) ? 0 : ENOMEM;
}
