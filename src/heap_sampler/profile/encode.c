/*
 * What the encoders of profiles share: a check before they trust an index, rounding, texts, and fields.  A text is any bytes
 * (a Ruby method may be called "\xff"), every format we write is UTF-8.
 */
#include "heap_sampler/profile/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

int
rb_hs_profile_check(const struct hs_profile *profile)
{
    const uint32_t texts = profile->text_count, chains = profile->retainers.node_count;
    bool ok = true;
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct hs_frame *frame = &profile->frames[i];
        ok = ok && frame->label < texts && frame->path < texts && frame->absolute_path < texts;
    }
    for (uint32_t i = 1; i < profile->node_count; i++) {        /* no parent comes later, so no stack is endless */
        ok = ok && profile->nodes[i].parent < i && profile->nodes[i].frame < profile->frame_count;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        ok = ok && (!row->node || row->node < profile->node_count) && row->class_name < texts && row->type < texts;
        ok = ok && row->library < texts && row->labels < texts;
    }
    for (uint32_t i = 0; i < chains; i++) {
        const struct hs_retainer *node = &profile->retainers.nodes[i];
        ok = ok && node->parent <= i && node->kind < texts && node->name < texts && node->klass < texts && node->path < texts && node->bound < texts;
    }
    for (size_t i = 0; i < profile->kept_count; i++) {
        ok = ok && profile->kept[i].of < profile->row_count && profile->kept[i].node < chains;
    }
    for (uint32_t i = 0; i < profile->mapping_count; i++) {
        ok = ok && profile->mappings[i].path < texts && profile->mappings[i].build_id < texts;
    }
    return ok ? 0 : EINVAL;
}

int64_t
rb_hs_round(double value)
{
    /* 2^63, which a double holds exactly; llround(3) is undefined from there on */
    const double limit = 9223372036854775808.0;

    if (!(value > 0)) return 0;         /* not-a-number, too */
    return value >= limit ? INT64_MAX : llround(value);
}

int64_t
rb_hs_saturate(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* How many bytes the valid character at `ptr` has; 0: it is none. RFC 3629: no overlong form, no surrogate, nothing past
 * U+10FFFF. */
static size_t
utf8_length(const char *ptr, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};       /* by length */
    uint32_t first = (unsigned char)*ptr;
    if (first < 0x80) return 1;
    size_t need = (size_t)__builtin_clz(~(first << 24));        /* its leading ones */
    if (need < 2 || need > 4 || len < need) return 0;
    uint32_t code = first & (0x7fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((ptr[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (ptr[i] & 0x3f);
    }
    return code < least[need] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : need;
}

void
rb_hs_append_utf8(struct hs_buffer *out, struct hs_text text, bool json)
{
    size_t done = 0, i = 0;

    while (i < text.len) {
        size_t len = utf8_length(text.ptr + i, text.len - i);
        unsigned char byte = (unsigned char)text.ptr[i];
        bool control = byte < 0x20 || byte == 0x7f, special = control || byte == '"' || byte == '\\';
        if (len && !(json && special)) {
            i += len;
            continue;
        }
        rb_hs_buffer_append(out, text.ptr + done, i - done);
        if (!len) rb_hs_buffer_puts(out, "\xef\xbf\xbd");       /* U+FFFD */
        else rb_hs_buffer_printf(out, control ? "\\u%04x" : "\\%c", byte);
        done = ++i;
    }
    if (i > done) rb_hs_buffer_append(out, text.ptr + done, i - done);
}

uint32_t
rb_hs_mapping_of(const struct hs_profile *profile, uint64_t address)
{
    for (uint32_t i = 0; i < profile->mapping_count; i++) {
        if (address >= profile->mappings[i].start && address < profile->mappings[i].end) return i;
    }
    return profile->mapping_count;
}

/* -- protobuf, and fields of an object, as such a message or as JSON ------------------------------ */

enum { WIRE_VARINT = 0,
       WIRE_BYTES = 2,
       VARINT_MAX = 10 };

static size_t
varint(unsigned char bytes[VARINT_MAX], uint64_t value)
{
    size_t len = 0;
    while (value >= 0x80) {
        bytes[len++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    bytes[len++] = (unsigned char)value;
    return len;
}

void
rb_hs_put_varint(struct hs_buffer *out, uint64_t value)
{
    unsigned char bytes[VARINT_MAX];
    rb_hs_buffer_append(out, bytes, varint(bytes, value));
}

void
rb_hs_put_number(struct hs_buffer *out, uint32_t field, uint64_t value)
{
    rb_hs_put_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
    rb_hs_put_varint(out, value);
}

size_t
rb_hs_open_message(struct hs_buffer *out, uint32_t field)
{
    rb_hs_put_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
    return out->len;
}

/* The length, which is known now, comes before what it is of. */
void
rb_hs_close_message(struct hs_buffer *out, size_t at)
{
    unsigned char bytes[VARINT_MAX];
    size_t len = varint(bytes, out->len - at);
    rb_hs_buffer_append(out, bytes, len);
    if (out->failed) return;
    memmove(out->ptr + at + len, out->ptr + at, out->len - len - at);
    memcpy(out->ptr + at, bytes, len);
}

static void
name(const struct hs_object *object, enum hs_field field)
{
    rb_hs_buffer_printf(object->out, "\"%s\":", rb_hs_field_name(field));
}

/* In JSON in place of the last comma. */
static void
end_with(struct hs_buffer *out, const char *text)
{
    if (!out->failed && out->len && out->ptr[out->len - 1] == ',') out->len--;
    rb_hs_buffer_puts(out, text);
}

void
rb_hs_put(const struct hs_object *object, enum hs_field field, uint64_t value)
{
    if (object->json) rb_hs_buffer_printf(object->out, "\"%s\":%" PRIu64 ",", rb_hs_field_name(field), value);
    else rb_hs_put_number(object->out, field, value);
}

void
rb_hs_put_all(const struct hs_object *object, const struct hs_account_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fields[i].known) rb_hs_put(object, fields[i].field, fields[i].value);
    }
}

void
rb_hs_put_flag(const struct hs_object *object, enum hs_field field, bool value)
{
    if (object->json) rb_hs_buffer_printf(object->out, "\"%s\":%s,", rb_hs_field_name(field), value ? "true" : "false");
    else rb_hs_put_number(object->out, field, value);
}

void
rb_hs_put_element(const struct hs_object *object, enum hs_field list, struct hs_text text)
{
    if (object->json) {
        rb_hs_buffer_puts(object->out, "\"");
        rb_hs_append_utf8(object->out, text, true);
        rb_hs_buffer_puts(object->out, "\",");
        return;
    }
    size_t at = rb_hs_open_message(object->out, list);
    rb_hs_append_utf8(object->out, text, false);
    rb_hs_close_message(object->out, at);
}

void
rb_hs_put_text(const struct hs_object *object, enum hs_field field, struct hs_text text)
{
    if (object->json) name(object, field);
    rb_hs_put_element(object, field, text);
}

void
rb_hs_put_known_text(const struct hs_object *object, enum hs_field field, const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    if (len) rb_hs_put_text(object, field, (struct hs_text){text, (uint32_t)len});
}

size_t
rb_hs_open(const struct hs_object *object, enum hs_field field)
{
    if (object->json) name(object, field);
    return rb_hs_open_element(object, field);
}

size_t
rb_hs_open_element(const struct hs_object *object, enum hs_field list)
{
    if (!object->json) return rb_hs_open_message(object->out, list);
    rb_hs_buffer_puts(object->out, "{");
    return 0;
}

void
rb_hs_close(const struct hs_object *object, size_t at)
{
    if (object->json) end_with(object->out, "},");
    else rb_hs_close_message(object->out, at);
}

void
rb_hs_open_list(const struct hs_object *object, enum hs_field list)
{
    if (!object->json) return;
    name(object, list);
    rb_hs_buffer_puts(object->out, "[");
}

void
rb_hs_close_list(const struct hs_object *object)
{
    if (object->json) end_with(object->out, "],");
}
