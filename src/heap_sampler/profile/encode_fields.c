/* Protobuf; and fields of an object, as such a message or as JSON: see profile/encode.h. */
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/base/fields.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/buffer.h"

#include <inttypes.h>
#include <string.h>

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
    if (!object->json) {
        rb_hs_put_number(object->out, field, value);
        return;
    }
    name(object, field);
    rb_hs_buffer_printf(object->out, "%" PRIu64 ",", value);
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
    if (!object->json) {
        rb_hs_put_number(object->out, field, value);
        return;
    }
    name(object, field);
    rb_hs_buffer_puts(object->out, value ? "true," : "false,");
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
