/*
 * GC::SampleProfile.with_labels, set_labels, labels and prepare_labels.
 *
 * Labels are copied as text, and become a label set's number
 * (store/label_sets.h), which the current fiber has then.
 */
#include "heap_sampler/base/contract.h"
#include "heap_sampler/ruby/ruby_api.h"
#include "heap_sampler/kernel.h"

enum {
    LABELS_MOST = 8,            /* in one set */
    KEY_MAX = 64,               /* bytes */
    VALUE_MAX = 128
};

/* A set's text, with an end of line after each label. */
struct labels {
    size_t len;
    char text[LABELS_MOST * (KEY_MAX + VALUE_MAX + 2)];
};

/* -- what is given, as text ---------------------------------------------------------- */

/* Is the key of this line before, or behind? */
static int
compare_key(const char *line, const char *key, size_t len)
{
    size_t line_len = (size_t)((const char *)memchr(line, '=', KEY_MAX + 1) - line);
    int order = memcmp(line, key, line_len < len ? line_len : len);
    return order ? order : (line_len > len) - (line_len < len);
}

static char *
line_behind(char *line)
{
    return (char *)memchr(line, '\n', KEY_MAX + VALUE_MAX + 2) + 1;
}

/* Adds a label, or replaces the label of this key. An empty value removes that. */
static void
put_one(struct labels *labels, const char *key, size_t key_len, const char *value, size_t value_len)
{
    char *place = labels->text, *end = place + labels->len;
    int order = 1, count = 0;
    for (; place < end && (order = compare_key(place, key, key_len)) < 0; count++) place = line_behind(place);
    char *behind = place < end && !order ? line_behind(place) : place;
    for (char *line = behind; line < end; count++) line = line_behind(line);
    if (value_len && count == LABELS_MOST) rb_raise(rb_eArgError, "too many labels; use at most %d", LABELS_MOST);
    char *to = value_len ? place + key_len + value_len + 2 : place;
    memmove(to, behind, (size_t)(end - behind));
    labels->len = (size_t)(to - labels->text) + (size_t)(end - behind);
    if (!value_len) return;
    memcpy(place, key, key_len);
    place[key_len] = '=';
    memcpy(place + key_len + 1, value, value_len);
    to[-1] = '\n';
}

/* Names of the labels that a saved profile has of its own. */
static bool
taken_p(const char *key, size_t len)
{
    static const char *const taken[] = {
        "class",
        "type",
        "kind",
        "library",
        "slot_size",
        "allocation_gc",
        "thread",
        "row",
        HS_LABELS_OTHER_KEY,
    };
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
        if (strncmp(taken[i], key, len) == 0 && !taken[i][len]) return true;
    }
    return false;
}

static bool
control_p(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

/* It runs no Ruby code, which could set other labels meanwhile. */
static VALUE
text_of(VALUE value, const char *what)
{
    if (SYMBOL_P(value)) return rb_sym2str(value);
    if (RB_TYPE_P(value, T_STRING)) return value;
    if (RB_INTEGER_TYPE_P(value)) return rb_int2str(value, 10);
    rb_raise(rb_eTypeError, "the %s of a label must be a String, a Symbol or an Integer, not %" PRIsVALUE, what, rb_obj_class(value));
}

static void
check_key(VALUE text)
{
    const char *key = RSTRING_PTR(text);
    size_t len = (size_t)RSTRING_LEN(text);
    if (!len || len > KEY_MAX) {
        rb_raise(rb_eArgError, "the name of a label must have 1 to %d bytes: %" PRIsVALUE, KEY_MAX, rb_inspect(text));
    }
    for (size_t i = 0; i < len; i++) {
        if (control_p(key[i]) || key[i] == '=') {
            rb_raise(rb_eArgError, "the name of a label must not contain = or a control character: %" PRIsVALUE, rb_inspect(text));
        }
    }
    if (taken_p(key, len)) rb_raise(rb_eArgError, "the label name %" PRIsVALUE " is reserved; use another name", text);
}

/* Cut where it is too long, before a character that would be cut in two. */
static size_t
copy_value(char copy[VALUE_MAX], VALUE text)
{
    const char *value = RSTRING_PTR(text);
    size_t len = (size_t)RSTRING_LEN(text);
    if (len > VALUE_MAX) {
        len = VALUE_MAX;
        while (len && ((unsigned char)value[len] & 0xc0) == 0x80) len--;
    }
    for (size_t i = 0; i < len; i++) copy[i] = control_p(value[i]) ? ' ' : value[i];
    return len;
}

static int
put_given(VALUE key, VALUE value, VALUE labels)
{
    char copy[VALUE_MAX];
    VALUE text = text_of(key, "name");
    check_key(text);
    size_t len = NIL_P(value) ? 0 : copy_value(copy, text_of(value, "value"));
    put_one((struct labels *)labels, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), copy, len);
    RB_GC_GUARD(text);
    return ST_CONTINUE;
}

/* -- the current fiber's --------------------------------------------------------------- */

/* None for HS_LABELS_OTHER. */
static void
read_labels(struct labels *labels)
{
    uint16_t number = rb_hs_labels_now();
    labels->len = 0;
    if (hs_labels_coarse(number) == number) return;
    rb_hs_lock();
    struct hs_text text = rb_hs_label_set_text(number);
    memcpy(labels->text, text.ptr, text.len);
    labels->text[text.len] = '\n';
    labels->len = text.len + 1;
    rb_hs_unlock();
}

/* From here on it has these labels too; returns the number of the set that it had. */
static uint16_t
add_labels(VALUE given)
{
    struct labels labels;
    uint16_t before = rb_hs_labels_now();
    read_labels(&labels);
    if (!NIL_P(given)) rb_hash_foreach(given, put_given, (VALUE)&labels);
    RB_VM_LOCK_ENTER();
    rb_hs_lock();
    rb_hs_labels_set(rb_hs_label_set(labels.text, labels.len ? labels.len - 1 : 0));
    rb_hs_unlock();
    RB_VM_LOCK_LEAVE();
    return before;
}

static VALUE
go_back(VALUE number)
{
    rb_hs_labels_set((uint16_t)number);
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
 * A label shows which code allocated an object, not what retains it. Labels are a fiber's: a Fiber, a Thread
 * or a Ractor that is made in the block has them too, for as long as it lives. A name has up to 64
 * bytes, a value up to 128 (a longer one is cut); a value is a String, a Symbol or an Integer, and
 * +nil+ takes the label off. There are up to 8 at a time. Texts are copied: no object is kept.
 *
 * A process may have 1,024 sets of labels. One more is counted as "(other)".
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
    return rb_ensure(rb_yield, Qundef, go_back, add_labels(given));
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
    add_labels(given);
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
    struct labels labels;
    VALUE hash = rb_hash_new();
    read_labels(&labels);
    struct hs_text rest = {labels.text, (uint32_t)labels.len};
    if (rb_hs_labels_now() == HS_LABELS_OTHER) rest = (struct hs_text){HS_LABELS_OTHER_TEXT, sizeof(HS_LABELS_OTHER_TEXT) - 1};
    while (rest.len) {
        struct hs_text value = hs_text_cut(&rest, '\n'), key = hs_text_cut(&value, '=');
        rb_hash_aset(hash, rb_str_intern(rb_utf8_str_new(key.ptr, (long)key.len)), rb_utf8_str_new(value.ptr, (long)value.len));
    }
    return hash;
}

/* -- labels that some code sets often ------------------------------------------------------ */

enum { OF_RACTORS = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_EMBEDDABLE | RUBY_TYPED_FROZEN_SHAREABLE };

/* What PreparedLabels#enter returns: from the set that a fiber has to another one. Frozen: Ractors share it. */
struct step {
    uint16_t from, to;
};

static const rb_data_type_t step_type = {
    .wrap_struct_name = "labels of GC::SampleProfile, before and after",
    .function = {NULL, RUBY_DEFAULT_FREE},
    .flags = OF_RACTORS,
};

struct prepared {
    VALUE given;                /* a Hash, for Ractors too */
    VALUE step;                 /* the last one; Qfalse: there was none.  Atomic, publishes it: Ractors share this */
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
    struct step *step = before ? RTYPEDDATA_GET_DATA(before) : NULL;
    if (step && step->from == rb_hs_labels_now()) {
        rb_hs_labels_set(step->to);
        return before;
    }
    before = TypedData_Make_Struct(rb_cObject, struct step, &step_type, step);
    step->from = add_labels(prepared->given);
    step->to = rb_hs_labels_now();
    rb_obj_freeze(before);
    if (step->to == HS_LABELS_OTHER) return before;     /* each time counts as refused */
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
    const struct step *step = rb_check_typeddata(before, &step_type);
    return go_back(step->from);
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
    const struct step *step = RTYPEDDATA_GET_DATA(prepared_enter(self));
    return rb_ensure(rb_yield, Qundef, go_back, step->from);
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
    struct labels labels = {.len = 0};
    VALUE given;
    rb_scan_args(argc, argv, "0:", &given);
    if (!NIL_P(given)) {
        rb_hash_foreach(given, put_given, (VALUE)&labels);
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
