/* What retains the samples of a profile: see profile/rows.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/rows.h"
#include "heap_sampler/base/memory.h"

static int
compare_parts(const void *left, const void *right)
{
    const struct hs_part *a = left, *b = right;
    if (a->of != b->of) return a->of < b->of ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Sorts a list, in which parts that agree become one. Returns how many are left. */
static size_t
join(struct hs_part *list, size_t count)
{
    size_t left = 0;
    rb_hs_sort(list, count, sizeof(*list), compare_parts);
    for (size_t i = 0; i < count; i++) {
        if (i && compare_parts(&list[left - 1], &list[i]) == 0) rb_hs_estimate_add(&list[left - 1].sum, &list[i].sum);
        else list[left++] = list[i];
    }
    return left;
}

static int
compare_sizes(const void *left, const void *right)
{
    const struct hs_part *a = left, *b = right;
    if (a->sum.space != b->sum.space) return a->sum.space < b->sum.space ? 1 : -1;
    return compare_parts(left, right);
}

static struct hs_part
pin_of(const struct hs_profile *profile, const struct hs_slot_copy *copy)
{
    const struct hs_row *row = &profile->rows[copy->row];
    const struct hs_pin_nodes *nodes = &profile->retainers.found->samples[copy->number].pins;
    double weight = rb_hs_estimate_one(row->slot_size, copy->interval).objects, bytes = copy->free_share;
    return (struct hs_part){
        .of = nodes->pin,
        .node = nodes->holder,
        .frame = rb_hs_frame_with_line(profile, row->node),
        .sum = {1, weight, weight * bytes, weight * (weight - 1) * bytes * bytes},
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
    profile->pin_count = join(profile->pins, profile->pin_count);
    rb_hs_sort(profile->pins, profile->pin_count, sizeof(*profile->pins), compare_sizes);
    return true;
}

/* -- what retains samples ----------------------------------------------------------------- */

static void
add(struct hs_profile *profile, size_t row, uint32_t node, struct hs_estimate one)
{
    profile->kept[profile->kept_count++] = (struct hs_part){.of = (uint32_t)row, .node = node, .sum = one};
}

/* The texts of the nodes become the profile's; the nodes lead to them there. */
static bool
add_texts(struct hs_profile *profile)
{
    struct hs_found *found = profile->retainers.found;
    uint32_t base = profile->text_count - 1;    /* text 0 is empty in both */
    struct hs_text *texts = rb_hs_realloc(HS_MEM_SNAPSHOTS, profile->texts,
                                          ((size_t)profile->text_count + found->text_count) * sizeof(*texts));
    if (!texts) return false;
    profile->texts = texts;
    for (uint32_t i = 1; i < found->text_count; i++) texts[profile->text_count++] = found->texts[i];
    for (uint32_t i = 0; i < found->node_count; i++) {
        struct hs_retainer *node = &found->nodes[i];
        node->kind += node->kind ? base : 0;
        node->name += node->name ? base : 0;
        node->klass += node->klass ? base : 0;
        node->bound += node->bound ? base : 0;
        node->path += node->path ? base : 0;
    }
    return true;
}

/* -- the child that walks ----------------------------------------------------------------- */

/* A block that was allocated before this GC has survived four major GCs, an object that is not promoted three GCs at most. */
enum { MAJORS_OF_OLD = 4 };
static uint32_t old_before_gc;

static struct hs_wanted_sample
sample(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    if (position >= copies->slots.record_count) {
        const struct hs_malloc_block_copy *block = &copies->malloc.blocks[position - copies->slots.record_count];
        return (struct hs_wanted_sample){
            .address = block->address,
            .old = block->allocation_gc < old_before_gc,
            .weight = rb_hs_estimate_one(block->size, block->interval),
        };
    }
    const struct hs_slot_copy *copy = &copies->slots.records[position];
    return (struct hs_wanted_sample){
        .address = (uintptr_t)rb_heap_sampler_gc_slot_address(copy->body, copy->record.slot),
        .pinned = copy->record.pinned,
        .weight = rb_hs_estimate_one(copies->slots.sites[copy->record.site].where, copy->interval),
    };
}

void
rb_hs_kept_samples_fork(struct hs_walk_child *child, const struct hs_copies *copies)
{
    uint32_t objects = (uint32_t)copies->slots.record_count;
    struct hs_majors majors;
    rb_hs_majors_copy(&majors);
    old_before_gc = majors.count < MAJORS_OF_OLD ? 0 : majors.list[majors.count - MAJORS_OF_OLD].gc;
    rb_hs_retainers_fork(child, &(struct hs_wanted){copies, objects, objects + copies->malloc.block_count, sample});
}

/* What is counted, and not sampled: the memory of YJIT's code, which no object has. */
static void
add_counted(struct hs_profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->malloced && !row->has_allocation_gc && row->inuse.samples) add(profile, i, HS_TOP_CACHES, row->inuse);
    }
}

bool
rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies)
{
    size_t objects = copies->slots.record_count;
    const struct hs_found_sample *samples = profile->retainers.found->samples;
    profile->kept = rb_hs_malloc(HS_MEM_SNAPSHOTS, (objects + copies->malloc.block_count + 1) * sizeof(*profile->kept));
    if (!profile->kept) return false;
    for (size_t i = 0; i < objects; i++) {
        const struct hs_slot_copy *copy = &copies->slots.records[i];
        add(profile, copy->row, samples[copy->number].node, rb_hs_estimate_one(profile->rows[copy->row].slot_size, copy->interval));
    }
    for (uint32_t i = 0; i < copies->malloc.block_count; i++) {
        const struct hs_malloc_block_copy *block = &copies->malloc.blocks[i];
        add(profile, block->row, samples[objects + block->number].node, rb_hs_estimate_one(block->size, block->interval));
    }
    add_counted(profile);
    profile->kept_count = join(profile->kept, profile->kept_count);
    return add_pins(profile, &copies->slots) && add_texts(profile);     /* which lead to memory that goes where there is no answer */
}
