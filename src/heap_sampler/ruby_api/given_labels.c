/* See ruby_api/given_labels.h. */
#include "heap_sampler/ruby_api/given_labels.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/base/locks.h"
#include "heap_sampler/labels/fibers.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/sites/folding.h"

/* -- what is given, as text ---------------------------------------------------------- */

/* Is the key of this line before, or behind? */
static int
compare_key(const char *line, const char *key, size_t len)
{
    size_t line_len = (size_t)((const char *)memchr(line, '=', HS_LABEL_KEY_MAX + 1) - line);
    int order = memcmp(line, key, line_len < len ? line_len : len);
    return order ? order : (line_len > len) - (line_len < len);
}

static char *
line_behind(char *line)
{
    return (char *)memchr(line, '\n', HS_LABEL_KEY_MAX + HS_LABEL_VALUE_MAX + 2) + 1;
}

/* Adds a label, or puts it in the place of the one that has its key. An empty value takes that off. */
static void
put_one(struct hs_labels *labels, const char *key, size_t key_len, const char *value, size_t value_len)
{
    char *place = labels->text, *end = place + labels->len;
    int order = 1, count = 0;
    for (; place < end && (order = compare_key(place, key, key_len)) < 0; count++) place = line_behind(place);
    char *behind = place < end && !order ? line_behind(place) : place;
    for (char *line = behind; line < end; count++) line = line_behind(line);
    if (value_len && count == HS_LABELS_MOST) rb_raise(rb_eArgError, "too many labels; use at most %d", HS_LABELS_MOST);
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
    if (!len || len > HS_LABEL_KEY_MAX) {
        rb_raise(rb_eArgError, "the name of a label must have 1 to %d bytes: %" PRIsVALUE, HS_LABEL_KEY_MAX, rb_inspect(text));
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
copy_value(char copy[HS_LABEL_VALUE_MAX], VALUE text)
{
    const char *value = RSTRING_PTR(text);
    size_t len = (size_t)RSTRING_LEN(text);
    if (len > HS_LABEL_VALUE_MAX) {
        len = HS_LABEL_VALUE_MAX;
        while (len && ((unsigned char)value[len] & 0xc0) == 0x80) len--;
    }
    for (size_t i = 0; i < len; i++) copy[i] = control_p(value[i]) ? ' ' : value[i];
    return len;
}

static int
put_given(VALUE key, VALUE value, VALUE labels)
{
    char copy[HS_LABEL_VALUE_MAX];
    VALUE text = text_of(key, "name");
    check_key(text);
    size_t len = NIL_P(value) ? 0 : copy_value(copy, text_of(value, "value"));
    put_one((struct hs_labels *)labels, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), copy, len);
    RB_GC_GUARD(text);
    return ST_CONTINUE;
}

void
rb_hs_labels_put(struct hs_labels *labels, VALUE given)
{
    rb_hash_foreach(given, put_given, (VALUE)labels);
}

/* -- the current fiber's --------------------------------------------------------------- */

void
rb_hs_labels_read(struct hs_labels *labels)
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

/* -- room for one more set -------------------------------------------------------------- */

uint64_t rb_hs_label_sets_refused;

/* Sets that no fiber has, and under which no living sample was allocated, are freed: what was counted under them is
 * counted under HS_LABELS_OTHER from then on. */
static bool
make_room(void)
{
    enum { WORTH = HS_LABEL_SETS_MAX / 16 };    /* what frees fewer is not done again at once: a second later */
    static int64_t in_vain_at;                  /* seconds */
    bool used[HS_LABEL_NUMBERS] = {[HS_LABELS_NONE] = true, [HS_LABELS_OTHER] = true};
    uint32_t freed = 0;
    int64_t now = rb_hs_coarse_seconds();
    if (in_vain_at && now <= in_vain_at + 1) return false;
    rb_hs_fibers_see_labels(used);
    rb_hs_lock();
    rb_hs_sites_see_labels(used);
    rb_hs_malloc_see_labels(used);
    if (rb_hs_sites_keep_labels(used)) {
        rb_hs_malloc_keep_labels(used);
        freed = rb_hs_label_sets_keep(used);
    }
    rb_hs_unlock();
    in_vain_at = freed < WORTH ? now : 0;
    return freed;
}

static uint16_t
number_of(const char *text, size_t len)
{
    rb_hs_lock();
    uint16_t number = rb_hs_label_set(text, len);
    rb_hs_unlock();
    return number;
}

uint16_t
rb_hs_labels_make_current(const char *text, size_t len, uint32_t *era)
{
    uint16_t number;
    if (len) len--;             /* no end of line */
    RB_VM_LOCK_ENTER();
    {
        number = number_of(text, len);
        if (number == HS_LABELS_OTHER && make_room()) number = number_of(text, len);
        if (number == HS_LABELS_OTHER) rb_hs_label_sets_refused++;
        rb_hs_labels_set(number);
        *era = rb_hs_label_sets_era;
    }
    RB_VM_LOCK_LEAVE();
    return number;
}
