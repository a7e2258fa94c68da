/*
 * GC::SampleProfile.with_labels, set_labels and labels.
 *
 * ruby_api/prepared_labels.c has what code does that sets the same ones often.
 */
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/ruby_api/given_labels.h"
#include "heap_sampler/ruby_api/ruby_api.h"

/* -- a block's --------------------------------------------------------------------------- */

/* The set that the fiber goes back to is kept for it by an object that only the machine stack of with_labels refers to:
 * the block may never come to its end. */
struct way_back {
    uint16_t number;
    bool pinned;
};

static void
unpin(struct way_back *back)
{
    if (back->pinned) rb_hs_label_set_unpin(back->number);
    back->pinned = false;
}

static void
way_back_free(void *ptr)
{
    unpin(ptr);
    ruby_xfree(ptr);
}

static const rb_data_type_t way_back_type = {
    "labels of GC::SampleProfile",
    {NULL, way_back_free, NULL},
    NULL,
    NULL,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
go_back(VALUE data)
{
    struct way_back *back = (struct way_back *)data;
    rb_hs_labels_set(back->number);
    unpin(back);
    return Qnil;
}

VALUE
rb_hs_with_labels(void (*enter)(void *data), void *data)
{
    struct way_back here = {.number = rb_hs_labels_now()}, *back = &here;
    VALUE object = Qnil;
    rb_need_block();
    if (here.number != HS_LABELS_NONE && here.number != HS_LABELS_OTHER) {
        object = TypedData_Make_Struct(0, struct way_back, &way_back_type, back);
        *back = here;
        rb_hs_label_set_pin(back->number);
        back->pinned = true;
    }
    enter(data);
    VALUE result = rb_ensure(rb_yield, Qundef, go_back, (VALUE)back);
    RB_GC_GUARD(object);
    return result;
}

/* -- what is given ------------------------------------------------------------------------ */

struct given {
    int argc;
    VALUE *argv;
};

static void
add_given(void *data)
{
    const struct given *given = data;
    struct hs_labels labels;
    VALUE hash;
    rb_scan_args(given->argc, given->argv, "0:", &hash);
    rb_hs_labels_read(&labels);
    if (!NIL_P(hash)) rb_hs_labels_put(&labels, hash);
    rb_hs_labels_make_current(&labels);
}

/*
 * call-seq:
 *   GC::SampleProfile.with_labels(name: value, ...) { ... } -> object
 *
 * Runs the block, and gives what it allocates these labels, besides those that are set already.
 * Returns what the block returns. Samples of slots and of malloc have the labels; reports group
 * by them (<tt>by: "label:controller"</tt>) and filter by them.
 *
 * A label says who allocated an object, not who keeps it. Labels are a fiber's: a Fiber, a Thread
 * or a Ractor that is made in the block has them too, for as long as it lives. A name has up to 64
 * bytes, a value up to 128 (a longer one is cut); a value is a String, a Symbol or an Integer, and
 * +nil+ takes the label off. There are up to 8 at a time. Texts are copied: no object is kept.
 *
 * There may be 1,024 sets of labels at once. One more is counted as "(other)".
 *
 *   GC::SampleProfile.with_labels(job: "Export", queue: "low") { export }
 *
 * Raises ArgumentError or TypeError for a label that cannot be.
 */
static VALUE
s_with_labels(int argc, VALUE *argv, VALUE klass)
{
    struct given given = {argc, argv};
    return rb_hs_with_labels(add_given, &given);
}

/*
 * call-seq:
 *   GC::SampleProfile.set_labels(name: value, ...) -> nil
 *
 * Sets these labels for the current fiber from here on, besides those that are set already; +nil+
 * takes one off. For code that cannot wrap what it labels in a block; else use ::with_labels, which
 * says what labels are. For code that often sets the same ones there is ::prepare_labels.
 *
 *   GC::SampleProfile.set_labels(controller: "orders", action: "index")
 *   # ... later
 *   GC::SampleProfile.set_labels(controller: nil, action: nil)
 */
static VALUE
s_set_labels(int argc, VALUE *argv, VALUE klass)
{
    struct given given = {argc, argv};
    add_given(&given);
    return Qnil;
}

/*
 * call-seq:
 *   GC::SampleProfile.labels -> hash
 *
 * Returns the labels of the current fiber: Symbols and Strings. Where there was no room for them it
 * is <tt>{labels: "(other)"}</tt>.
 */
static VALUE
s_labels(VALUE klass)
{
    struct hs_labels labels;
    VALUE hash = rb_hash_new();
    if (rb_hs_labels_now() == HS_LABELS_OTHER) {
        rb_hash_aset(hash, ID2SYM(rb_intern(HS_LABELS_OTHER_KEY)), rb_utf8_str_new_cstr(HS_LABELS_OTHER_VALUE));
        return hash;
    }
    rb_hs_labels_read(&labels);
    for (int i = 0; i < labels.count; i++) {
        const struct hs_label *label = &labels.list[i];
        VALUE key = rb_str_intern(rb_utf8_str_new(label->key, (long)label->key_len));
        rb_hash_aset(hash, key, rb_utf8_str_new(label->value, (long)label->value_len));
    }
    return hash;
}

void
rb_hs_init_labels(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "with_labels", s_with_labels, -1);
    rb_define_singleton_method(rb_cSampleProfile, "set_labels", s_set_labels, -1);
    rb_define_singleton_method(rb_cSampleProfile, "labels", s_labels, 0);
}
