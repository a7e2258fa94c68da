/*
 * From a sample to its object.
 *
 * A record says where its object is, and follows it when it moves; a snapshot
 * is a copy that does not.  `moves` counts what moved, so that a sample which
 * is not where it was seen has either died, or is looked for once with all
 * others: looking for each of them by itself would go through all records each
 * time, which with a million samples, many of them dead, takes minutes.
 */
#include "ruby/internal/config.h"
#include "internal.h"
#include "internal/gc.h"
#include "internal/heap_sampler.h"
#include "internal/object.h"
#include "vm_sync.h"
#include "objects.h"
#include "page_table.h"
#include "table.h"

/* Sizes of so many objects are asked for between two chances for other threads to run. */
enum { BATCH = 256 };

VALUE
rb_hs_object_of_id(uint64_t id)
{
    VALUE object = 0;
    RB_VM_LOCK_ENTER();
    for (uint32_t p = 0; !object && p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) {
            if (page->records[i].id != id) continue;
            object = rb_heap_sampler_gc_slot_address(page->body, page->records[i].slot);
            break;
        }
    }
    RB_VM_LOCK_LEAVE();
    return object;
}

/* 0: no sample of this id is where this one was last seen. VM lock. */
static VALUE
object_in_place(const struct hs_live_sample *sample)
{
    unsigned int slot;
    VALUE object = rb_heap_sampler_gc_slot_address(sample->body, sample->slot);
    const struct rb_heap_sampler_page *page = rb_heap_sampler_gc_table_of(object, &slot);
    const struct hs_record *record = rb_hs_page_find(page, slot);
    return record && record->id == sample->id ? object : 0;
}

/* Positions of samples by id; false: no memory. */
static bool
number_samples(struct hs_live_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (i <= UINT32_MAX && rb_hs_map_put(&samples->by_id, samples->list[i].id, (uint32_t)i)) continue;
        rb_hs_map_free(&samples->by_id);
        return false;
    }
    return true;
}

/* The samples learn where their records are now. VM lock. */
static void
follow(struct hs_live_samples *samples)
{
    if (samples->moves == rb_hs_sampler.moves) return;
    samples->moves = rb_hs_sampler.moves;
    if (!samples->by_id.count && !number_samples(samples)) return;
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) {
            const uint32_t *position = rb_hs_map_find(&samples->by_id, page->records[i].id);
            if (!position) continue;
            samples->list[*position].body = page->body;
            samples->list[*position].slot = page->records[i].slot;
        }
    }
}

/* What has just been taken is not initialised: its type is T_NONE. */
static bool
can_be_asked_p(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
      case T_NONE: case T_MOVED: case T_ZOMBIE: return false;
      default: return true;
    }
}

/* While other Ractors stand still: they may be making, filling or freeing what is asked. */
static void
measure_batch(struct hs_live_samples *samples, size_t from, size_t to, size_t *sizes)
{
    RB_VM_LOCK_ENTER();
    {
        rb_vm_barrier();
        follow(samples);
        for (size_t i = from; i < to; i++) {
            VALUE object = object_in_place(&samples->list[i]);
            if (object && can_be_asked_p(object)) sizes[i] = rb_obj_memsize_of(object);
        }
    }
    RB_VM_LOCK_LEAVE();
}

void
rb_hs_objects_measure(struct hs_live_samples *samples, size_t *sizes)
{
    for (size_t from = 0; from < samples->count; from += BATCH) {
        size_t left = samples->count - from;
        measure_batch(samples, from, from + (left < BATCH ? left : BATCH), sizes);
        rb_thread_schedule();      /* may not come back */
    }
    rb_hs_map_free(&samples->by_id);
}
