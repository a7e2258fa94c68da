/*
 * GC::SampleProfile.with_labels, set_labels, labels and prepare_labels.
 *
 * A step goes from the set that a fiber has to another one, and back.  Prepared
 * labels remember their last step: where the fiber has the set that it begins
 * at, taking it is a load, two comparisons and a store.
 */
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/ruby_api/given_labels.h"
#include "heap_sampler/ruby_api/ruby_api.h"

/* -- steps ------------------------------------------------------------------------------- */

/* What PreparedLabels#enter returns. Frozen: Ractors share it. */
struct step {
    VALUE text;                 /* of `from`, whose set may be freed meanwhile; Qfalse: it cannot be */
    uint32_t era;               /* in which both are what they were */
    uint16_t from, to;
};

static void
step_mark(void *ptr)
{
    rb_gc_mark(((struct step *)ptr)->text);
}

enum { OF_RACTORS = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_EMBEDDABLE | RUBY_TYPED_FROZEN_SHAREABLE };

static const rb_data_type_t step_type = {
    .wrap_struct_name = "labels of GC::SampleProfile, before and after",
    .function = {step_mark, RUBY_DEFAULT_FREE},
    .flags = OF_RACTORS,
};

/* The current fiber has these, too. */
static VALUE
take_step(VALUE given)
{
    struct hs_labels labels;
    struct step *step;
    VALUE self = TypedData_Make_Struct(rb_cObject, struct step, &step_type, step);
    rb_hs_labels_read(&labels);
    if (labels.len) RB_OBJ_WRITE(self, &step->text, rb_obj_freeze(rb_str_new(labels.text, (long)labels.len)));
    if (!NIL_P(given)) rb_hs_labels_put(&labels, given);
    step->from = rb_hs_labels_now();
    step->to = rb_hs_labels_make_current(labels.text, labels.len, &step->era);
    return rb_obj_freeze(self);
}

static VALUE
go_back(VALUE self)
{
    const struct step *step = RTYPEDDATA_GET_DATA(self);
    uint32_t era;
    if (!step->text || step->era == rb_hs_label_sets_era) rb_hs_labels_set(step->from);
    else rb_hs_labels_make_current(RSTRING_PTR(step->text), (size_t)RSTRING_LEN(step->text), &era);
    RB_GC_GUARD(self);
    return Qnil;
}

/* -- methods ----------------------------------------------------------------------------- */

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
    VALUE given;
    rb_need_block();
    rb_scan_args(argc, argv, "0:", &given);
    return rb_ensure(rb_yield, Qundef, go_back, take_step(given));
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
    VALUE given;
    rb_scan_args(argc, argv, "0:", &given);
    take_step(given);
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
    rb_hs_labels_read(&labels);
    struct hs_text rest = {labels.text, (uint32_t)labels.len};
    if (rb_hs_labels_now() == HS_LABELS_OTHER) rest = rb_hs_label_set_text(HS_LABELS_OTHER);
    while (rest.len) {
        struct hs_text value = hs_text_cut(&rest, '\n'), key = hs_text_cut(&value, '=');
        rb_hash_aset(hash, rb_str_intern(rb_utf8_str_new(key.ptr, (long)key.len)), rb_utf8_str_new(value.ptr, (long)value.len));
    }
    return hash;
}

/* -- labels that some code sets often ------------------------------------------------------ */

struct prepared {
    VALUE given;                /* a Hash, for Ractors too */
    VALUE step;                 /* the last one; Qfalse: there was none */
};

static void
prepared_mark(void *ptr)
{
    const struct prepared *prepared = ptr;
    rb_gc_mark(prepared->given);
    rb_gc_mark(prepared->step);
}

static const rb_data_type_t prepared_type = {
    .wrap_struct_name = "labels of GC::SampleProfile, prepared",
    .function = {prepared_mark, RUBY_DEFAULT_FREE},
    .flags = OF_RACTORS,
};

/*
 * call-seq:
 *   enter -> before
 *
 * The current fiber has these labels from here on, besides those that it has. Returns what #leave
 * wants. For code that cannot afford a block; else use #with.
 *
 *   before = labels.enter
 *   begin
 *     work
 *   ensure
 *     labels.leave(before)
 *   end
 */
static VALUE
prepared_enter(VALUE self)
{
    /* A receiver is of its class, and there is no other way to one. */
    struct prepared *prepared = RTYPEDDATA_GET_DATA(self);
    VALUE before = __atomic_load_n(&prepared->step, __ATOMIC_ACQUIRE);
    const struct step *step = before ? RTYPEDDATA_GET_DATA(before) : NULL;
    if (step && step->era == rb_hs_label_sets_era && step->from == rb_hs_labels_now()) {
        rb_hs_labels_set(step->to);
        return before;
    }
    before = take_step(prepared->given);
    step = RTYPEDDATA_GET_DATA(before);
    if (step->to == HS_LABELS_OTHER) return before;     /* there may be room the next time */
    __atomic_store_n(&prepared->step, before, __ATOMIC_RELEASE);
    RB_OBJ_WRITTEN(self, Qundef, before);
    return before;
}

/*
 * call-seq:
 *   leave(before) -> nil
 *
 * The current fiber has the labels again that it had when #enter returned +before+.
 */
static VALUE
prepared_leave(VALUE self, VALUE before)
{
    rb_check_typeddata(before, &step_type);
    return go_back(before);
}

/*
 * call-seq:
 *   with { ... } -> object
 *
 * Runs the block with these labels, as GC::SampleProfile.with_labels does.
 */
static VALUE
prepared_with(VALUE self)
{
    rb_need_block();
    return rb_ensure(rb_yield, Qundef, go_back, prepared_enter(self));
}

/* Made when it is first wanted, since most programs prepare no labels: a class and its methods are half of what labels
 * would add to a start. Twice is as good as once. */
static VALUE
define_class(VALUE rb_cSampleProfile)
{
    /*
     * Document-class: GC::SampleProfile::PreparedLabels
     *
     * Labels that some code sets often; see GC::SampleProfile.prepare_labels.
     */
    VALUE rb_cPreparedLabels = rb_define_class_under(rb_cSampleProfile, "PreparedLabels", rb_cObject);
    rb_undef_alloc_func(rb_cPreparedLabels);
    rb_undef_method(CLASS_OF(rb_cPreparedLabels), "new");
    rb_define_method(rb_cPreparedLabels, "with", prepared_with, 0);
    rb_define_method(rb_cPreparedLabels, "enter", prepared_enter, 0);
    rb_define_method(rb_cPreparedLabels, "leave", prepared_leave, 1);
    return rb_cPreparedLabels;
}

/*
 * call-seq:
 *   GC::SampleProfile.prepare_labels(name: value, ...) -> prepared
 *
 * Returns an object that gives these labels to the current fiber, as ::with_labels does, and takes
 * fewer instructions for that: for code that often sets the same ones, as a framework does for each
 * request. Keep it in a constant, or with what it is of; Ractors may share it.
 *
 *   EXPORT = GC::SampleProfile.prepare_labels(job: "Export")
 *   EXPORT.with { export }
 *
 * Raises ArgumentError or TypeError for a label that cannot be.
 */
static VALUE
s_prepare_labels(int argc, VALUE *argv, VALUE klass)
{
    static VALUE class_of_prepared;
    struct prepared *prepared;
    struct hs_labels labels = {.len = 0};
    VALUE given;
    rb_scan_args(argc, argv, "0:", &given);
    if (!NIL_P(given)) {
        rb_hs_labels_put(&labels, given);
        given = rb_ractor_make_shareable_copy(given);
    }
    if (!class_of_prepared) class_of_prepared = define_class(klass);
    VALUE self = TypedData_Make_Struct(class_of_prepared, struct prepared, &prepared_type, prepared);
    RB_OBJ_WRITE(self, &prepared->given, given);
    return rb_obj_freeze(self);
}

void
rb_hs_init_labels(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "with_labels", s_with_labels, -1);
    rb_define_singleton_method(rb_cSampleProfile, "set_labels", s_set_labels, -1);
    rb_define_singleton_method(rb_cSampleProfile, "labels", s_labels, 0);
    rb_define_singleton_method(rb_cSampleProfile, "prepare_labels", s_prepare_labels, -1);
}
