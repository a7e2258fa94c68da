/* See profile/kept_samples.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/kept_samples.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/profile/kept.h"
#include "heap_sampler/profile/pins.h"

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
        if (row->malloced && !row->has_birth && row->inuse.samples) rb_hs_kept_add(profile, i, HS_TOP_CACHES, &row->inuse);
    }
}

bool
rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies)
{
    const struct hs_holders *holders = &profile->holders;
    if (!rb_hs_kept_begin(profile, copies->slots.record_count + copies->malloc.block_count + 1)) return false;
    for (size_t i = 0; i < copies->slots.record_count; i++) {
        const struct hs_slot_copy *copy = &copies->slots.records[i];
        struct hs_estimate one = rb_hs_estimate_one(profile->rows[copy->row].slot_size, copy->interval);
        rb_hs_kept_add(profile, copy->row, holders->object_nodes[copy->number], &one);
    }
    for (uint32_t i = 0; i < copies->malloc.block_count; i++) {
        const struct hs_malloc_block_copy *block = &copies->malloc.blocks[i];
        struct hs_estimate one = rb_hs_estimate_one(block->size, block->interval);
        rb_hs_kept_add(profile, block->row, holders->block_nodes[block->number], &one);
    }
    add_counted(profile);
    return rb_hs_kept_end(profile) && rb_hs_pins_add(profile, &copies->slots);
}
