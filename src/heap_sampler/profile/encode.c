/*
 * What the encoders of profiles share: a check before they trust an index,
 * rounding, and texts.  A text is any bytes (a Ruby method
 * may be called "\xff"), every format we write is UTF-8.
 */
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/kernel.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int
rb_hs_profile_check(const struct hs_profile *profile)
{
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct hs_frame *frame = &profile->frames[i];
        if (frame->label >= profile->text_count) return EINVAL;
        if (frame->path >= profile->text_count) return EINVAL;
        if (frame->absolute_path >= profile->text_count) return EINVAL;
    }
    for (uint32_t i = 1; i < profile->node_count; i++) {
        const struct hs_node *node = &profile->nodes[i];
        if (node->parent >= i) return EINVAL;   /* so no stack is endless */
        if (node->frame >= profile->frame_count) return EINVAL;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->node && row->node >= profile->node_count) return EINVAL;
        if (row->class_name >= profile->text_count) return EINVAL;
        if (row->type >= profile->text_count) return EINVAL;
        if (row->library >= profile->text_count) return EINVAL;
        if (row->labels >= profile->text_count) return EINVAL;
    }
    for (uint32_t i = 0; i < profile->retainers.node_count; i++) {
        const struct hs_retainer *node = &profile->retainers.nodes[i];
        if (node->parent > i || node->kind >= profile->text_count) return EINVAL;
        if (node->name >= profile->text_count || node->klass >= profile->text_count || node->path >= profile->text_count) return EINVAL;
    }
    for (size_t i = 0; i < profile->kept_count; i++) {
        const struct hs_kept *kept = &profile->kept[i];
        if (kept->row >= profile->row_count || kept->node >= profile->retainers.node_count) return EINVAL;
    }
    for (uint32_t i = 0; i < profile->mapping_count; i++) {
        if (profile->mappings[i].path >= profile->text_count) return EINVAL;
        if (profile->mappings[i].build_id >= profile->text_count) return EINVAL;
    }
    return 0;
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

/* RFC 3629: no overlong form, no surrogate, nothing past U+10FFFF. */
size_t
rb_hs_utf8_length(const char *ptr, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};       /* by length */
    unsigned char first = len ? (unsigned char)*ptr : 0xff;
    if (first < 0x80) return 1;
    size_t need = (first & 0xe0) == 0xc0 ? 2 : (first & 0xf0) == 0xe0 ? 3
        : (first & 0xf8) == 0xf0                                      ? 4
                                                                      : 0;
    if (!need || len < need) return 0;
    uint32_t code = first & (0x7fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((ptr[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (ptr[i] & 0x3f);
    }
    return code < least[need] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : need;
}

static const char replacement[] = "\xef\xbf\xbd";       /* U+FFFD */

void
rb_hs_append_utf8(struct hs_buffer *out, struct hs_text text)
{
    size_t done = 0, i = 0;

    while (i < text.len) {
        size_t len = rb_hs_utf8_length(text.ptr + i, text.len - i);
        if (len) {
            i += len;
            continue;
        }
        rb_hs_buffer_append(out, text.ptr + done, i - done);
        rb_hs_buffer_puts(out, replacement);
        done = ++i;
    }
    if (i > done) rb_hs_buffer_append(out, text.ptr + done, i - done);
}

void
rb_hs_append_json(struct hs_buffer *out, struct hs_text text)
{
    rb_hs_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.len;) {
        size_t len = rb_hs_utf8_length(text.ptr + i, text.len - i);
        unsigned char byte = (unsigned char)text.ptr[i];

        if (!len) {
            rb_hs_buffer_puts(out, replacement);
            len = 1;
        }
        else if (byte == '"' || byte == '\\') {
            rb_hs_buffer_printf(out, "\\%c", byte);
        }
        else if (byte < 0x20 || byte == 0x7f) {
            rb_hs_buffer_printf(out, "\\u%04x", byte);
        }
        else {
            rb_hs_buffer_append(out, text.ptr + i, len);
        }
        i += len;
    }
    rb_hs_buffer_puts(out, "\"");
}

uint32_t
rb_hs_mapping_of(const struct hs_profile *profile, uint64_t address)
{
    uint32_t low = 0, high = profile->mapping_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (profile->mappings[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    if (low == profile->mapping_count || address < profile->mappings[low].start) return profile->mapping_count;
    return low;
}

struct hs_text
rb_hs_text_of(const char *text)
{
    return (struct hs_text){text, (uint32_t)strlen(text)};
}
