/*
 * GC::SampleProfile.with_labels, set_labels and labels.
 *
 * What Ruby code gives is copied as text and becomes a label set's number
 * (labels/label_sets.h): no Ruby object is kept.
 */
#include "heap_sampler/base/locks.h"
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/labels/reclaim.h"
#include "heap_sampler/ruby_api/ruby_api.h"

/* -- what is given, as text ---------------------------------------------------------- */

struct label {
    char key[HS_LABEL_KEY_MAX], value[HS_LABEL_VALUE_MAX];
    size_t key_len, value_len;  /* no value: none of this name */
};

struct labels {
    struct label list[HS_LABELS_MOST];  /* by key */
    int count;
};

static int
compare_keys(const struct label *a, const struct label *b)
{
    int order = memcmp(a->key, b->key, a->key_len < b->key_len ? a->key_len : b->key_len);
    return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

/* Adds one, or puts it in the place of the one that has its key. */
static void
put_one(struct labels *labels, const struct label *label)
{
    int at = 0;
    while (at < labels->count && compare_keys(&labels->list[at], label) < 0) at++;
    struct label *place = &labels->list[at];
    bool same = at < labels->count && compare_keys(place, label) == 0;
    size_t behind = (size_t)(labels->count - at) * sizeof(*place);
    if (same && !label->value_len) {
        memmove(place, place + 1, behind - sizeof(*place));
        labels->count--;
    }
    else if (same) {
        *place = *label;
    }
    else if (label->value_len) {
        if (labels->count == HS_LABELS_MOST) rb_raise(rb_eArgError, "there are more than %d labels", HS_LABELS_MOST);
        memmove(place + 1, place, behind);
        *place = *label;
        labels->count++;
    }
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
        "gc_birth",
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

static VALUE
text_of(VALUE value, const char *what)
{
    if (SYMBOL_P(value)) return rb_sym2str(value);
    if (RB_TYPE_P(value, T_STRING)) return value;
    if (RB_INTEGER_TYPE_P(value)) return rb_obj_as_string(value);
    rb_raise(rb_eTypeError, "the %s of a label must be a String, a Symbol or an Integer, not %" PRIsVALUE, what, rb_obj_class(value));
}

static void
copy_key(struct label *label, VALUE given)
{
    VALUE text = text_of(given, "name");
    const char *key = RSTRING_PTR(text);
    size_t len = (size_t)RSTRING_LEN(text);
    if (!len || len > HS_LABEL_KEY_MAX) {
        rb_raise(rb_eArgError, "the name of a label must have 1 to %d bytes: %" PRIsVALUE, HS_LABEL_KEY_MAX, rb_inspect(given));
    }
    for (size_t i = 0; i < len; i++) {
        if (control_p(key[i]) || key[i] == '=') {
            rb_raise(rb_eArgError, "the name of a label must have no = and no control character in it: %" PRIsVALUE, rb_inspect(given));
        }
    }
    if (taken_p(key, len)) rb_raise(rb_eArgError, "every sample has a label %" PRIsVALUE " already: take another name", text);
    memcpy(label->key, key, len);
    label->key_len = len;
    RB_GC_GUARD(text);
}

/* Cut where it is too long, before a character that would be cut in two. */
static void
copy_value(struct label *label, VALUE given)
{
    label->value_len = 0;
    if (NIL_P(given)) return;
    VALUE text = text_of(given, "value");
    const char *value = RSTRING_PTR(text);
    size_t len = (size_t)RSTRING_LEN(text);
    if (len > HS_LABEL_VALUE_MAX) {
        len = HS_LABEL_VALUE_MAX;
        while (len && ((unsigned char)value[len] & 0xc0) == 0x80) len--;
    }
    for (size_t i = 0; i < len; i++) label->value[i] = control_p(value[i]) ? ' ' : value[i];
    label->value_len = len;
    RB_GC_GUARD(text);
}

static int
put_given(VALUE key, VALUE value, VALUE data)
{
    struct label label;
    copy_key(&label, key);
    copy_value(&label, value);
    put_one((struct labels *)data, &label);
    return ST_CONTINUE;
}

/* The reverse of text_of_labels. */
static void
read_labels(struct labels *labels, struct hs_text text)
{
    labels->count = 0;
    while (text.len) {
        struct label *label = &labels->list[labels->count++];
        struct hs_text value = hs_text_cut(&text, '\n'), key = hs_text_cut(&value, '=');
        memcpy(label->key, key.ptr, label->key_len = key.len);
        memcpy(label->value, value.ptr, label->value_len = value.len);
    }
}

static size_t
text_of_labels(const struct labels *labels, char text[HS_LABEL_TEXT_MAX])
{
    char *to = text;
    for (int i = 0; i < labels->count; i++) {
        const struct label *label = &labels->list[i];
        if (i) *to++ = '\n';
        memcpy(to, label->key, label->key_len);
        to += label->key_len;
        *to++ = '=';
        memcpy(to, label->value, label->value_len);
        to += label->value_len;
    }
    return (size_t)(to - text);
}

/* -- the current fiber's --------------------------------------------------------------- */

/* Those of HS_LABELS_OTHER are not known. */
static void
read_current(struct labels *labels)
{
    rb_hs_lock();
    read_labels(labels, rb_hs_label_set_text(rb_hs_labels_now()));
    rb_hs_unlock();
}

static void
make_current(const struct labels *labels)
{
    char text[HS_LABEL_TEXT_MAX];
    size_t len = text_of_labels(labels, text);
    RB_VM_LOCK_ENTER();
    {
        rb_hs_label_sets_make_room(text, len);
        rb_hs_lock();
        rb_hs_labels_set(rb_hs_label_set(text, len));
        rb_hs_unlock();
    }
    RB_VM_LOCK_LEAVE();
}

static VALUE
add_given(int argc, VALUE *argv)
{
    struct labels labels;
    VALUE given;
    rb_scan_args(argc, argv, "0:", &given);
    read_current(&labels);
    if (!NIL_P(given)) rb_hash_foreach(given, put_given, (VALUE)&labels);
    make_current(&labels);
    return Qnil;
}

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
    struct way_back here = {.number = rb_hs_labels_now()}, *back = &here;
    VALUE object = Qnil;
    rb_need_block();
    if (here.number != HS_LABELS_NONE && here.number != HS_LABELS_OTHER) {
        object = TypedData_Make_Struct(0, struct way_back, &way_back_type, back);
        *back = here;
        rb_hs_label_set_pin(back->number);
        back->pinned = true;
    }
    add_given(argc, argv);
    VALUE result = rb_ensure(rb_yield, Qundef, go_back, (VALUE)back);
    RB_GC_GUARD(object);
    return result;
}

/*
 * call-seq:
 *   GC::SampleProfile.set_labels(name: value, ...) -> nil
 *
 * Sets these labels for the current fiber from here on, besides those that are set already; +nil+
 * takes one off. For code that cannot wrap what it labels in a block; else use ::with_labels, which
 * says what labels are.
 *
 *   GC::SampleProfile.set_labels(controller: "orders", action: "index")
 *   # ... later
 *   GC::SampleProfile.set_labels(controller: nil, action: nil)
 */
static VALUE
s_set_labels(int argc, VALUE *argv, VALUE klass)
{
    return add_given(argc, argv);
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
    if (rb_hs_labels_now() == HS_LABELS_OTHER) {
        rb_hash_aset(hash, ID2SYM(rb_intern(HS_LABELS_OTHER_KEY)), rb_utf8_str_new_cstr(HS_LABELS_OTHER_VALUE));
        return hash;
    }
    read_current(&labels);
    for (int i = 0; i < labels.count; i++) {
        const struct label *label = &labels.list[i];
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
