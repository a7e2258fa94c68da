/*
 * GC::SampleProfile.prepare_labels: labels that some code sets often.
 *
 * Which set they make of the one that the fiber has is looked up once, and
 * remembered until sets of labels are freed.  Then setting them is a load, a
 * comparison and a store.
 */
#include "heap_sampler/base/locks.h"
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/ruby_api/given_labels.h"
#include "heap_sampler/ruby_api/ruby_api.h"

struct prepared {
    VALUE given;                /* a Hash of frozen texts, for Ractors too */
    uint64_t step;              /* atomic: era, the number that the fiber had, the number that it gets */
};

static VALUE class_of_prepared; /* 0: nobody wanted it yet */

/* What must be the same for a step, or for the way back. */
static uint64_t
state_of(uint32_t era, uint16_t from)
{
    return (uint64_t)era << 16 | from;
}

static void
prepared_mark(void *ptr)
{
    rb_gc_mark(((struct prepared *)ptr)->given);
}

static size_t
prepared_memsize(const void *ptr)
{
    return 0;                   /* embedded in its slot */
}

static const rb_data_type_t prepared_type = {
    "labels of GC::SampleProfile, prepared",
    {prepared_mark, RUBY_DEFAULT_FREE, prepared_memsize},
    NULL,
    NULL,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_EMBEDDABLE | RUBY_TYPED_FROZEN_SHAREABLE,
};

/* A receiver is of its class, and there is no other way to one. */
static struct prepared *
prepared_of(VALUE self)
{
    return RTYPEDDATA_GET_DATA(self);
}

void
rb_hs_labels_check_prepared(VALUE prepared)
{
    rb_check_typeddata(prepared, &prepared_type);
}

static int
copy_text(VALUE key, VALUE value, VALUE copy)
{
    if (!SYMBOL_P(key)) key = rb_str_new_frozen(rb_obj_as_string(key));
    if (!NIL_P(value)) value = rb_str_new_frozen(rb_obj_as_string(value));
    rb_hash_aset(copy, key, value);
    return ST_CONTINUE;
}

/* -- there and back --------------------------------------------------------------------- */

static void
look_up(struct prepared *prepared, uint16_t from)
{
    struct hs_labels labels;
    rb_hs_labels_read(&labels);
    rb_hs_labels_put(&labels, prepared->given);
    struct hs_labels_at at = rb_hs_labels_make_current(&labels);
    if (at.number == HS_LABELS_OTHER) return;   /* there may be room the next time */
    __atomic_store_n(&prepared->step, state_of(at.era, from) << 16 | at.number, __ATOMIC_RELAXED);
}

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
VALUE
rb_hs_labels_enter(VALUE self)
{
    struct prepared *prepared = prepared_of(self);
    uint64_t step = __atomic_load_n(&prepared->step, __ATOMIC_RELAXED);
    uint16_t from = rb_hs_labels_now();
    uint64_t state = state_of(rb_hs_label_sets_era(), from);
    if (step >> 16 == state) rb_hs_labels_set((uint16_t)step);
    else look_up(prepared, from);
    return ULL2NUM(state);
}

static bool
lives_p(uint16_t number, uint32_t era)
{
    if (era == rb_hs_label_sets_era()) return true;
    rb_hs_lock();
    bool lives = rb_hs_label_set_is_of_era(number, era);
    rb_hs_unlock();
    return lives;
}

bool
rb_hs_labels_go_back(VALUE before)
{
    uint64_t state = NUM2ULL(before);
    uint16_t number = (uint16_t)state;
    if (number >= HS_LABEL_NUMBERS) rb_raise(rb_eArgError, "this is not what enter returned");
    bool lives = lives_p(number, (uint32_t)(state >> 16));
    if (lives) rb_hs_labels_set(number);
    return lives;
}

/* The set that it had was freed: it has what it has now, without these. */
static void
take_off(const struct prepared *prepared)
{
    struct hs_labels labels;
    rb_hs_labels_read(&labels);
    rb_hs_labels_take_off(&labels, prepared->given);
    rb_hs_labels_make_current(&labels);
}

/*
 * call-seq:
 *   leave(before) -> nil
 *
 * The current fiber has the labels again that it had when #enter returned +before+. (While there are
 * more than 1,024 sets of labels they may have been forgotten: then it has what it has, without these.)
 */
VALUE
rb_hs_labels_leave(VALUE self, VALUE before)
{
    const struct prepared *prepared = prepared_of(self);
    if (!rb_hs_labels_go_back(before)) take_off(prepared);
    return Qnil;
}

static void
enter_i(void *data)
{
    rb_hs_labels_enter((VALUE)data);
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
    return rb_hs_with_labels(enter_i, (void *)self);
}

/* Made when it is first wanted, since most programs prepare no labels: a class and its methods are half of what labels
 * would add to a start. Twice is as good as once. */
static void
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
    rb_define_method(rb_cPreparedLabels, "enter", rb_hs_labels_enter, 0);
    rb_define_method(rb_cPreparedLabels, "leave", rb_hs_labels_leave, 1);
    class_of_prepared = rb_cPreparedLabels;
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
    struct prepared *prepared;
    struct hs_labels labels = {.count = 0};
    VALUE given, copy = rb_hash_new();
    if (!class_of_prepared) define_class(klass);
    VALUE self = TypedData_Make_Struct(class_of_prepared, struct prepared, &prepared_type, prepared);
    rb_scan_args(argc, argv, "0:", &given);
    if (!NIL_P(given)) {
        rb_hs_labels_put(&labels, given);
        rb_hash_foreach(given, copy_text, copy);
    }
    RB_OBJ_WRITE(self, &prepared->given, rb_ractor_make_shareable(copy));
    return rb_obj_freeze(self);
}

void
rb_hs_init_prepared_labels(VALUE rb_cSampleProfile)
{
    rb_define_singleton_method(rb_cSampleProfile, "prepare_labels", s_prepare_labels, -1);
}
