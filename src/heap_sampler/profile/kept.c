/* See profile/kept.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/kept.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/holders/roots.h"

#include <string.h>

/* -- what keeps GC.compact from moving samples ------------------------------------------ */

static int
compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int
compare_names(const void *left, const void *right)
{
    const struct hs_pin *a = left, *b = right;
    if (a->nodes.pin != b->nodes.pin) return compare_numbers(a->nodes.pin, b->nodes.pin);
    if (a->nodes.holder != b->nodes.holder) return compare_numbers(a->nodes.holder, b->nodes.holder);
    return compare_numbers(a->frame, b->frame);
}

static int
compare_sizes(const void *left, const void *right)
{
    const struct hs_pin *a = left, *b = right;
    if (a->free.space != b->free.space) return a->free.space < b->free.space ? 1 : -1;
    return compare_names(left, right);
}

/* Sorted ones. */
static void
join_pins(struct hs_profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->pin_count; i++) {
        const struct hs_pin *one = &profile->pins[i];
        if (i && compare_names(&profile->pins[count - 1], one) == 0) rb_hs_pin_add(&profile->pins[count - 1], one);
        else profile->pins[count++] = *one;
    }
    profile->pin_count = count;
}

static struct hs_pin
pin_of(const struct hs_profile *profile, const struct hs_slot_copy *copy)
{
    const struct hs_row *row = &profile->rows[copy->row];
    double weight = rb_hs_estimate_one(row->slot_size, copy->interval).objects, bytes = copy->free_share;
    return (struct hs_pin){
        .nodes = profile->holders.object_pins[copy->number],
        .frame = rb_hs_frame_with_line(profile, row->node),
        .samples = 1,
        .objects = weight,
        .free = {weight * bytes, weight * (weight - 1) * bytes * bytes},
    };
}

static bool
add_pins(struct hs_profile *profile, const struct hs_slot_copies *copied)
{
    size_t count = 0;
    for (size_t i = 0; i < copied->record_count; i++) count += copied->records[i].record.pinned;
    profile->pins = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * sizeof(*profile->pins) + 1);
    if (!profile->pins) return false;
    for (size_t i = 0; i < copied->record_count; i++) {
        const struct hs_slot_copy *copy = &copied->records[i];
        if (copy->record.pinned && !copy->record.young) profile->pins[profile->pin_count++] = pin_of(profile, copy);
    }
    rb_hs_sort(profile->pins, profile->pin_count, sizeof(*profile->pins), compare_names);
    join_pins(profile);
    rb_hs_sort(profile->pins, profile->pin_count, sizeof(*profile->pins), compare_sizes);
    return true;
}

/* -- who keeps samples -------------------------------------------------------------------- */

static bool
begin(struct hs_profile *profile, size_t samples)
{
    profile->kept_count = 0;
    profile->kept = rb_hs_malloc(HS_MEM_SNAPSHOTS, samples * sizeof(*profile->kept) + 1);
    return profile->kept != NULL;
}

static void
add(struct hs_profile *profile, size_t row, uint32_t node, const struct hs_estimate *one)
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

static bool
end(struct hs_profile *profile)
{
    if (!add_texts(profile)) return false;
    rb_hs_sort(profile->kept, profile->kept_count, sizeof(*profile->kept), compare_kept);
    join(profile);
    return true;
}

/* -- the child that walks ----------------------------------------------------------------- */

static uintptr_t
wanted_object(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    const struct hs_slot_copy *copy = &copies->slots.records[position];
    return (uintptr_t)rb_heap_sampler_gc_slot_address(copy->body, copy->record.slot);
}

static uintptr_t
wanted_block(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    return copies->malloc.blocks[position].address;
}

static bool
pinned(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    return copies->slots.records[position].record.pinned;
}

static struct hs_estimate
object_weight(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    const struct hs_slot_copy *copy = &copies->slots.records[position];
    return rb_hs_estimate_one(copies->slots.sites[copy->record.site].slot_size, copy->interval);
}

static struct hs_estimate
block_weight(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    const struct hs_malloc_block_copy *block = &copies->malloc.blocks[position];
    return rb_hs_estimate_one(block->size, block->interval);
}

void
rb_hs_kept_samples_fork(struct hs_holders_child *child, const struct hs_copies *copies)
{
    struct hs_wanted wanted = {
        .data = copies,
        .objects = (uint32_t)copies->slots.record_count,
        .blocks = copies->malloc.block_count,
        .object = wanted_object,
        .block = wanted_block,
        .pinned = pinned,
        .object_weight = object_weight,
        .block_weight = block_weight,
    };
    rb_hs_holders_fork(child, &wanted);
}

/* What is counted, and not sampled: the memory of YJIT's code, which no object has. */
static void
add_counted(struct hs_profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->malloced && !row->has_birth && row->inuse.samples) add(profile, i, HS_TOP_CACHES, &row->inuse);
    }
}

bool
rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies)
{
    const struct hs_holders *holders = &profile->holders;
    if (!begin(profile, copies->slots.record_count + copies->malloc.block_count + 1)) return false;
    for (size_t i = 0; i < copies->slots.record_count; i++) {
        const struct hs_slot_copy *copy = &copies->slots.records[i];
        struct hs_estimate one = rb_hs_estimate_one(profile->rows[copy->row].slot_size, copy->interval);
        add(profile, copy->row, holders->object_nodes[copy->number], &one);
    }
    for (uint32_t i = 0; i < copies->malloc.block_count; i++) {
        const struct hs_malloc_block_copy *block = &copies->malloc.blocks[i];
        struct hs_estimate one = rb_hs_estimate_one(block->size, block->interval);
        add(profile, block->row, holders->block_nodes[block->number], &one);
    }
    add_counted(profile);
    return end(profile) && add_pins(profile, &copies->slots);
}
