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
        ok = ok && node->parent <= i && node->kind < texts && node->name < texts && node->klass < texts && node->path < texts;
    }
    for (size_t i = 0; i < profile->kept_count; i++) {
        ok = ok && profile->kept[i].row < profile->row_count && profile->kept[i].node < chains;
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
