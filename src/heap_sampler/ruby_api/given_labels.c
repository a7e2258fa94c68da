/* See ruby_api/given_labels.h. */
#include "heap_sampler/ruby_api/given_labels.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/labels/reclaim.h"

/* -- what is given, as text ---------------------------------------------------------- */

static int
compare_keys(const struct hs_label *a, const struct hs_label *b)
{
    int order = memcmp(a->key, b->key, a->key_len < b->key_len ? a->key_len : b->key_len);
    return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

/* Adds one, or puts it in the place of the one that has its key. */
static void
put_one(struct hs_labels *labels, const struct hs_label *label)
{
    int at = 0;
    while (at < labels->count && compare_keys(&labels->list[at], label) < 0) at++;
    struct hs_label *place = &labels->list[at];
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
copy_key(struct hs_label *label, VALUE given)
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
copy_value(struct hs_label *label, VALUE given)
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
    struct hs_label label;
    copy_key(&label, key);
    copy_value(&label, value);
    put_one((struct hs_labels *)data, &label);
    return ST_CONTINUE;
}

void
rb_hs_labels_put(struct hs_labels *labels, VALUE given)
{
    rb_hash_foreach(given, put_given, (VALUE)labels);
}

static int
take_off(VALUE key, VALUE value, VALUE data)
{
    struct hs_label label;
    copy_key(&label, key);
    label.value_len = 0;
    put_one((struct hs_labels *)data, &label);
    return ST_CONTINUE;
}

void
rb_hs_labels_take_off(struct hs_labels *labels, VALUE given)
{
    rb_hash_foreach(given, take_off, (VALUE)labels);
}

/* The reverse of text_of_labels. */
static void
read_labels(struct hs_labels *labels, struct hs_text text)
{
    labels->count = 0;
    while (text.len) {
        struct hs_label *label = &labels->list[labels->count++];
        struct hs_text value = hs_text_cut(&text, '\n'), key = hs_text_cut(&value, '=');
        memcpy(label->key, key.ptr, label->key_len = key.len);
        memcpy(label->value, value.ptr, label->value_len = value.len);
    }
}

static size_t
text_of_labels(const struct hs_labels *labels, char text[HS_LABEL_TEXT_MAX])
{
    char *to = text;
    for (int i = 0; i < labels->count; i++) {
        const struct hs_label *label = &labels->list[i];
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

void
rb_hs_labels_read(struct hs_labels *labels)
{
    rb_hs_lock();
    read_labels(labels, rb_hs_label_set_text(rb_hs_labels_now()));
    rb_hs_unlock();
}

struct hs_labels_at
rb_hs_labels_make_current(const struct hs_labels *labels)
{
    struct hs_labels_at at;
    char text[HS_LABEL_TEXT_MAX];
    size_t len = text_of_labels(labels, text);
    RB_VM_LOCK_ENTER();
    {
        rb_hs_label_sets_make_room(text, len);
        rb_hs_lock();
        at.number = rb_hs_label_set(text, len);
        rb_hs_labels_set(at.number);
        rb_hs_unlock();
        at.era = rb_hs_label_sets_era();
    }
    RB_VM_LOCK_LEAVE();
    return at;
}
