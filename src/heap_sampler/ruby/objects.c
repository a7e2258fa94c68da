/*
 * From a sample to its object.
 *
 * A record follows its object when it moves; a sample of a snapshot has the
 * record's id.  Looking for each of them by itself would go through all records
 * each time, which with a million samples takes minutes.  So they are listed by
 * id, and again when one has moved.
 */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/kernel.h"

#include <stdlib.h>

/* Sizes of so many objects are asked for between two chances for other threads to run. */
enum { BATCH = 256 };

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

/* The list has this id, if a record has it. false: no memory. */
static bool
list_places(uint64_t id)
{
    if (places.list && places.moves == rb_hs_pages.moves && id <= places.last_id) return true;
    rb_hs_objects_forget_places();
    places.list = rb_hs_malloc(HS_MEM_SNAPSHOTS, rb_hs_pages.records * sizeof(*places.list) + 1);
    if (!places.list) return false;
    places.moves = rb_hs_pages.moves;
    places.last_id = rb_hs_slot_store.next_id;
    for (uint32_t p = 0; p < rb_hs_pages.count; p++) {
        const struct rb_heap_sampler_page *page = rb_hs_pages.list[p];
        for (uint32_t i = 0; i < page->count; i++) {
            places.list[places.count++] = (struct place){page->records[i].id, rb_heap_sampler_gc_slot_address(page->body, page->records[i].slot)};
        }
    }
    rb_hs_sort(places.list, places.count, sizeof(*places.list), compare_places);
    return true;
}

/* 0: it was freed. */
static VALUE
listed_object(uint64_t id)
{
    unsigned int slot;
    const struct place wanted = {.id = id};
    const struct place *found = bsearch(&wanted, places.list, places.count, sizeof(wanted), compare_places);
    if (!found) return 0;
    const struct rb_heap_sampler_page *page = rb_heap_sampler_gc_table_of(found->object, &slot);
    const struct hs_record *record = rb_hs_page_find(page, slot);
    return record && record->id == id ? found->object : 0;
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
measure_batch(const struct hs_live_samples *samples, size_t from, size_t to, size_t *sizes)
{
    RB_VM_LOCK_ENTER();
    {
        rb_vm_barrier();
        for (size_t i = from; i < to && list_places(samples->list[i].id); i++) {
            VALUE object = listed_object(samples->list[i].id);
            if (object && can_be_asked_p(object)) sizes[i] = rb_obj_memsize_of(object);
        }
    }
    RB_VM_LOCK_LEAVE();
}

void
rb_hs_objects_measure(const struct hs_live_samples *samples, size_t *sizes)
{
    for (size_t from = 0; from < samples->count; from += BATCH) {
        size_t left = samples->count - from;
        measure_batch(samples, from, from + (left < BATCH ? left : BATCH), sizes);
        rb_thread_schedule();      /* may not come back */
    }
    rb_hs_objects_forget_places();
}

/* -- methods --------------------------------------------------------------------- */

/* What Ruby code may hold: what ObjectSpace shows, and nothing that another Ractor may be writing to. */
static bool
presentable_p(VALUE object)
{
    return !rb_objspace_internal_object_p(object) && (!rb_multi_ractor_p() || rb_ractor_shareable_p(object));
}

/*
 * call-seq:
 *   GC::SampleProfile.object_of(id) -> object or nil
 *
 * Returns the object behind a live sample; GC::SampleProfile::Sample#object calls this with
 * the +id+ of the sample. Returns +nil+ if the object was freed, if it is internal to Ruby, or
 * if another Ractor may be writing to it.
 */
static VALUE
s_object_of(VALUE klass, VALUE id)
{
    uint64_t number = NUM2ULL(id);
    VALUE object = 0;
    bool listed = true;
    RB_VM_LOCK_ENTER();
    if (number <= rb_hs_slot_store.next_id) listed = list_places(number);
    if (listed && places.list) object = listed_object(number);
    RB_VM_LOCK_LEAVE();
    if (!listed) rb_memerror();
    return object && presentable_p(object) ? object : Qnil;
}

VALUE
rb_hs_text_value(const struct hs_text *text)
{
    VALUE string = rb_utf8_str_new(text->ptr, text->len);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) string = rb_str_scrub(string, Qnil);
    return rb_fstring(string);
}

enum { STACK_MOST = HS_DEPTH_MAX + 1 };         /* and (truncated) */

struct stack_copy {
    bool known;                 /* the object has a sample */
    struct hs_text_bytes *names;        /* held */
    uint32_t depth;
    struct stack_frame {
        struct hs_text label, path, absolute_path;
        uint32_t line;
    } frames[STACK_MOST];
};

/* Making Ruby objects of the stack may take a sample, and give nodes other numbers: it is copied before. */
static void
copy_stack_of(VALUE object, struct stack_copy *copy)
{
    unsigned int slot;
    RB_VM_LOCK_ENTER();
    {
        const struct rb_heap_sampler_page *page = rb_heap_sampler_gc_table_of(object, &slot);
        const struct hs_record *record = rb_hs_page_find(page, slot);
        uint32_t node = record ? rb_hs_slot_store.sites[record->site].node : HS_NODE_EMPTY;
        copy->known = record;
        copy->names = rb_hs_texts_hold();
        for (copy->depth = 0; node != HS_NODE_EMPTY && copy->depth < STACK_MOST; node = rb_hs_nodes[node].parent) {
            const struct hs_frame *from = &rb_hs_frames[rb_hs_nodes[node].frame];
            struct stack_frame *frame = &copy->frames[copy->depth++];
            *frame = (struct stack_frame){rb_hs_texts[from->label], rb_hs_texts[from->path], rb_hs_texts[from->absolute_path], from->line};
        }
    }
    RB_VM_LOCK_LEAVE();
}

static VALUE
stack_value(VALUE data)
{
    const struct stack_copy *copy = (const struct stack_copy *)data;
    VALUE stack = copy->known ? rb_ary_new_capa((long)copy->depth) : Qnil;
    for (uint32_t i = 0; i < copy->depth; i++) {
        const struct stack_frame *frame = &copy->frames[i];
        VALUE label = rb_hs_text_value(&frame->label), path = rb_hs_text_value(&frame->path);
        rb_ary_push(stack, rb_ary_new_from_args(4, label, path, rb_hs_text_value(&frame->absolute_path), UINT2NUM(frame->line)));
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
    VALUE buffer;
    struct stack_copy *copy = ALLOCV_N(struct stack_copy, buffer, 1);
    copy_stack_of(object, copy);
    VALUE stack = rb_ensure(stack_value, (VALUE)copy, release_names, (VALUE)copy);
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
