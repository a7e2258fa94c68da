/* GC::SampleProfile.check and .spoil: in check builds only. */
#include "heap_sampler/base/contract.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/ruby/ruby_api.h"

#if HS_CHECKING

#include <string.h>

/*
 * call-seq:
 *   GC::SampleProfile.check -> integer
 *
 * Asserts the sampler's invariants; how many records were looked at. In check builds only.
 */
static VALUE
s_check(VALUE klass)
{
    rb_hs_check_now();
    return ULL2NUM(rb_hs_pages.records);
}

/* A free slot of the page. */
static uint16_t
free_slot(const struct rb_heap_sampler_page *page)
{
    for (uint16_t slot = 0; slot < 65536 / sizeof(struct RBasic); slot++) {
        unsigned int found;
        VALUE object = rb_heap_sampler_gc_slot_address(page->body, slot);
        if (rb_heap_sampler_gc_table_of(object, &found) == page && found == slot && !rb_hs_check_in_use(object)) return slot;
    }
    rb_raise(rb_eArgError, "no free slot next to the first record");
}

/* A class of another type. */
static uint32_t
other_class(uint32_t class_id)
{
    for (uint32_t site = 0; site < rb_hs_slot_store.site_count; site++) {
        uint32_t other = rb_hs_slot_store.sites[site].what;
        if (rb_hs_class_type_text(other) != rb_hs_class_type_text(class_id)) return other;
    }
    rb_raise(rb_eArgError, "all samples are of one type");
}

static void
drop_all_of(struct rb_heap_sampler_page *page)
{
    rb_hs_lock();
    while (page->count) rb_hs_page_drop(page, 0);
    rb_hs_unlock();
}

/* The first site of malloc that has a node gets the number of none; false: there is none. */
static bool
mislead_malloc(void)
{
    bool done = false;
    rb_hs_malloc_lock();
    for (uint32_t i = 0; !done && i < rb_hs_malloc_store.site_count; i++) {
        struct hs_site *site = &rb_hs_malloc_store.sites[i];
        if (site->node >= HS_NODE_RAW || site->node == HS_NODE_EMPTY) continue;
        site->node = rb_hs_node_count;
        done = true;
    }
    rb_hs_malloc_unlock();
    return done;
}

/* Each is one way in which the tables could go wrong. */
static bool
spoil(const char *what)
{
    struct rb_heap_sampler_page *page = rb_hs_pages.list[0];
    struct hs_record *record = &page->records[0];
    struct hs_site *site = &rb_hs_slot_store.sites[record->site];
    if (strcmp(what, "count") == 0) rb_hs_pages.records++;
    else if (strcmp(what, "slot") == 0) record->slot = free_slot(page);
    else if (strcmp(what, "table") == 0) drop_all_of(page);
    else if (strcmp(what, "owner") == 0) *page->owner = NULL;
    else if (strcmp(what, "type") == 0) site->what = other_class(site->what);
    else if (strcmp(what, "session") == 0) rb_hs_slot_store.session[HS_MAIN].samples--;
    else if (strcmp(what, "epoch") == 0) rb_hs_slot_store.epochs.list[record->epoch].records++;
    else if (strcmp(what, "site") == 0) record->site = rb_hs_slot_store.site_count;
    else if (strcmp(what, "node") == 0) site->node = rb_hs_node_count;
    else if (strcmp(what, "frame") == 0) rb_hs_nodes[rb_hs_node_count - 1].frame = rb_hs_frame_count;
    else if (strcmp(what, "freed frame") == 0) rb_hs_frames[rb_hs_nodes[rb_hs_node_count - 1].frame].address = HS_FRAME_FREE;
    else if (strcmp(what, "freed text") == 0) rb_hs_texts[rb_hs_frames[rb_hs_nodes[rb_hs_node_count - 1].frame].label].len = 0;
    else if (strcmp(what, "allocations") == 0) rb_hs_slot_store.session[HS_MAIN].totals[record->site].alloc.samples = 0;
    else if (strcmp(what, "malloc") == 0) return mislead_malloc();
    else return false;
    return true;
}

/*
 * call-seq:
 *   GC::SampleProfile.spoil(what) -> nil
 *
 * Damages one thing in the tables, so that a test can see the check fail. In check builds only.
 */
static VALUE
s_spoil(VALUE klass, VALUE what)
{
    const char *name = StringValueCStr(what);
    if (!rb_hs_pages.count) rb_raise(rb_eArgError, "nothing is sampled");
    if (!spoil(name)) rb_raise(rb_eArgError, "cannot damage %s", name);
    return Qnil;
}

void
rb_hs_init_check(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "check", s_check, 0);
    rb_define_singleton_method(rb_cSampleProfile, "spoil", s_spoil, 1);
}
#endif
