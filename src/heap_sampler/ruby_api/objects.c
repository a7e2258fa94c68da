/*
 * From a sample to its object.
 *
 * A record says where its object is, and follows it when it moves; a snapshot
 * is a copy that does not.  `moves` counts what moved, so that a sample which
 * is not where it was seen has either died, or is looked for once with all
 * others: looking for each of them by itself would go through all records each
 * time, which with a million samples takes minutes.
 */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/ruby_api/ruby_api.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/slots/page_table.h"
#include "heap_sampler/stacks/capture.h"
#include "heap_sampler/stacks/stack_table.h"

#include <stdlib.h>

/* Sizes of so many objects are asked for between two chances for other threads to run. */
enum { BATCH = 256 };

/* 0: the sample of this id is of no object in this place. VM lock. */
static VALUE
object_if_of(VALUE place, uint64_t id)
{
    unsigned int slot;
    const struct rb_heap_sampler_page *page = rb_heap_sampler_gc_table_of(place, &slot);
    const struct hs_record *record = rb_hs_page_find(page, slot);
    return record && record->id == id ? place : 0;
}

static VALUE
object_in_place(const struct hs_live_sample *sample)
{
    return object_if_of(rb_heap_sampler_gc_slot_address(sample->body, sample->slot), sample->id);
}

/* -- by id ------------------------------------------------------------------------- */

struct place {
    uint64_t id;
    VALUE object;
};

/* Where the objects of all samples are, by id: listed when one is asked for, and good until one moves. VM lock. */
static struct {
    struct place *list;         /* NULL: not listed */
    size_t count;
    uint64_t moves, last_id;
} places;

static int
compare_places(const void *left, const void *right)
{
    uint64_t a = ((const struct place *)left)->id, b = ((const struct place *)right)->id;
    return a < b ? -1 : a > b;
}

void
rb_hs_objects_forget_places(void)
{
    RB_VM_LOCK_ENTER();
    rb_hs_free(HS_MEM_SNAPSHOTS, places.list);
    places.list = NULL;
    places.count = 0;
    RB_VM_LOCK_LEAVE();
}

/* Returns the one of this id, if there is one; without memory nothing is listed. */
static VALUE
list_places(uint64_t id)
{
    VALUE object = 0;
    rb_hs_objects_forget_places();
    places.list = rb_hs_malloc(HS_MEM_SNAPSHOTS, rb_hs_pages.records * sizeof(*places.list));
    places.moves = rb_hs_sampler.moves;
    places.last_id = rb_hs_sampler.next_id;
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) {
            struct place place = {page->records[i].id, rb_heap_sampler_gc_slot_address(page->body, page->records[i].slot)};
            if (places.list) places.list[places.count++] = place;
            if (place.id == id) object = place.object;
        }
    }
    if (places.list) rb_hs_sort(places.list, places.count, sizeof(*places.list), compare_places);
    return object;
}

static VALUE
find_object(uint64_t id)
{
    if (id > rb_hs_sampler.next_id) return 0;
    if (!places.list || places.moves != rb_hs_sampler.moves || id > places.last_id) return list_places(id);
    const struct place wanted = {.id = id};
    const struct place *found = bsearch(&wanted, places.list, places.count, sizeof(wanted), compare_places);
    return found ? object_if_of(found->object, id) : 0;
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
    case T_NONE:
    case T_MOVED:
    case T_ZOMBIE: return false;
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

/* -- methods --------------------------------------------------------------------- */

/* What Ruby code may hold: no internal nor hidden object, nothing that
 * another Ractor may be writing to. */
static bool
presentable_p(VALUE object)
{
    switch (BUILTIN_TYPE(object)) {
    case T_NONE:
    case T_MOVED:
    case T_ZOMBIE:
    case T_IMEMO:
    case T_NODE:
    case T_ICLASS:
        return false;
    case T_CLASS:
        if (!RBASIC(object)->klass || RCLASS_SINGLETON_P(object)) return false;
        break;
    default:
        if (!RBASIC(object)->klass) return false;
        break;
    }
    return !rb_multi_ractor_p() || rb_ractor_shareable_p(object);
}

/*
 * call-seq:
 *   GC::SampleProfile.object_of(id) -> object or nil
 *
 * Returns the object behind a live sample; GC::SampleProfile::Sample#object calls this with
 * the +id+ of the sample. Returns +nil+ if the object has died, if it is internal to Ruby, or
 * if another Ractor may be writing to it.
 */
static VALUE
s_object_of(VALUE klass, VALUE id)
{
    uint64_t number = NUM2ULL(id);
    VALUE object = 0;
    RB_VM_LOCK_ENTER();
    object = find_object(number);
    RB_VM_LOCK_LEAVE();
    return object && presentable_p(object) ? object : Qnil;
}

VALUE
rb_hs_text_value(const struct hs_text *text)
{
    VALUE string = rb_utf8_str_new(text->ptr, text->len);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) string = rb_str_scrub(string, Qnil);
    return rb_fstring(string);
}

struct stack_frame {
    struct hs_text label, path, absolute_path;
    uint32_t line;
};

enum { STACK_MOST = HS_DEPTH_MAX + 1 };         /* and (truncated) */

/* Copies the stack of an object's sample, and holds its names; its depth, UINT32_MAX: it has none.
 * Making Ruby objects of it may take a sample, and give nodes other numbers. */
static uint32_t
copy_stack_of(VALUE object, struct stack_frame *frames, struct hs_text_bytes **names)
{
    uint32_t depth = UINT32_MAX;
    RB_VM_LOCK_ENTER();
    {
        unsigned int slot;
        const struct rb_heap_sampler_page *page = rb_heap_sampler_gc_table_of(object, &slot);
        const struct hs_record *record = rb_hs_page_find(page, slot);
        uint32_t node = record ? rb_hs_sampler.sites[record->site].node : HS_NODE_EMPTY;
        if (record) depth = 0;
        *names = rb_hs_texts_hold();
        for (; node != HS_NODE_EMPTY && depth < STACK_MOST; node = rb_hs_nodes[node].parent) {
            const struct hs_frame *frame = &rb_hs_frames[rb_hs_nodes[node].frame];
            frames[depth++] = (struct stack_frame){
                rb_hs_texts[frame->label],
                rb_hs_texts[frame->path],
                rb_hs_texts[frame->absolute_path],
                frame->line,
            };
        }
    }
    RB_VM_LOCK_LEAVE();
    return depth;
}

struct stack_copy {
    struct stack_frame *frames;
    uint32_t depth;
    struct hs_text_bytes *names;
};

static VALUE
stack_value(VALUE data)
{
    const struct stack_copy *copy = (const struct stack_copy *)data;
    VALUE stack = rb_ary_new_capa((long)copy->depth);
    for (uint32_t i = 0; i < copy->depth; i++) {
        const struct stack_frame *frame = &copy->frames[i];
        rb_ary_push(stack, rb_ary_new_from_args(4, rb_hs_text_value(&frame->label), rb_hs_text_value(&frame->path), rb_hs_text_value(&frame->absolute_path), UINT2NUM(frame->line)));
    }
    return stack;
}

static VALUE
release_names(VALUE data)
{
    rb_hs_texts_release(((struct stack_copy *)data)->names);
    return Qnil;
}

/*
 * call-seq:
 *   GC::SampleProfile.raw_stack_of(object) -> array or nil
 *
 * Returns the stack that allocated +object+, innermost frame first. Each frame is an array of
 * label, path, absolute path and line. Returns +nil+ if the object was not sampled.
 * GC::SampleProfile.stack_of returns the same stack as locations.
 *
 *   GC::SampleProfile.raw_stack_of(ticket)
 *   # => [["Ticket::Cache.store", "app/models/ticket/cache.rb", "/srv/app/models/ticket/cache.rb", 16], ...]
 */
static VALUE
s_raw_stack_of(VALUE klass, VALUE object)
{
    if (RB_SPECIAL_CONST_P(object)) return Qnil;
    VALUE buffer, stack = Qnil;
    struct stack_copy copy = {.frames = ALLOCV_N(struct stack_frame, buffer, STACK_MOST)};
    copy.depth = copy_stack_of(object, copy.frames, &copy.names);
    if (copy.depth != UINT32_MAX) stack = rb_ensure(stack_value, (VALUE)&copy, release_names, (VALUE)&copy);
    else rb_hs_texts_release(copy.names);
    ALLOCV_END(buffer);
    RB_GC_GUARD(object);
    return stack;
}

void
rb_hs_init_objects(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "object_of", s_object_of, 1);
    rb_define_singleton_method(rb_cSampleProfile, "raw_stack_of", s_raw_stack_of, 1);
}
