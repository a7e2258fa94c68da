/*
 * Folded stacks: what flamegraph.pl and speedscope read.
 *
 *     root (path:line);…;leaf (path:line) value
 *
 * A native frame is `function (library)`.
 * A line a stack, its rows summed; stacks whose sum rounds to 0 are left out.
 * The format knows no escapes: `;` parts frames, a newline parts lines, the
 * last blank parts the value.  So a name that has them is changed, not the line.
 */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/texts.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/output.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/stacks/stack_table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* How many bytes at `ptr` a reader may take for the end of a line: controls,
 * and NEL, LS and PS, where JavaScript's and others' regular expressions stop. */
static size_t
line_break_length(const char *ptr, size_t len)
{
    unsigned char byte = (unsigned char)*ptr;

    if (byte < 0x20 || byte == 0x7f) return 1;
    if (len >= 2 && byte == 0xc2 && ((unsigned char)ptr[1] & 0xe0) == 0x80) return 2;
    if (len >= 3 && (memcmp(ptr, "\xe2\x80\xa8", 3) == 0 || memcmp(ptr, "\xe2\x80\xa9", 3) == 0)) return 3;
    return 0;
}

static void
append_name(struct hs_buffer *out, struct hs_text text)
{
    uint32_t i = 0;

    while (i < text.len) {
        size_t bad = line_break_length(text.ptr + i, text.len - i);
        if (bad) {
            rb_hs_buffer_puts(out, " ");
            i += bad;
        }
        else if (text.ptr[i] == ';') {
            rb_hs_buffer_puts(out, ",");
            i++;
        }
        else {
            size_t len = rb_hs_utf8_length(text.ptr + i, text.len - i);
            rb_hs_append_utf8(out, (struct hs_text){text.ptr + i, len ? len : 1});
            i += len ? len : 1;
        }
    }
}

static void
append_frame(struct hs_buffer *out, const struct hs_profile *profile, uint32_t index)
{
    const struct hs_frame *frame = &profile->frames[index];
    struct hs_text label = profile->texts[frame->label];
    struct hs_text path = profile->texts[frame->path];

    if (frame->address) {
        struct hs_buffer name = {0};
        rb_hs_append_native(&name, profile, frame);
        append_name(out, (struct hs_text){name.ptr, (uint32_t)name.len});
        if (name.failed) out->failed = true;
        rb_hs_buffer_free(&name);
        return;
    }
    append_name(out, label.len ? label : rb_hs_text_of(HS_NO_LABEL));
    if (!path.len) return;
    rb_hs_buffer_puts(out, " (");
    append_name(out, path);
    if (frame->line) rb_hs_buffer_printf(out, ":%" PRIu32, frame->line);
    rb_hs_buffer_puts(out, ")");
}

int
rb_hs_encode_folded(const struct hs_profile *profile, enum hs_value value, struct hs_buffer *out)
{
    struct hs_stack stack = {0};
    double *sums = NULL;
    int error = rb_hs_profile_check(profile);

    if (!error) error = rb_hs_sum_by_node(profile, value, &sums);
    for (uint32_t node = 0; !error && !out->failed && (node == 0 || node < profile->node_count); node++) {
        int64_t sum = rb_hs_round(sums[node]);
        if (sum <= 0) continue;
        error = rb_hs_stack_read(&stack, profile, node);
        if (error) break;

        if (!stack.depth) rb_hs_buffer_puts(out, HS_NO_STACK);
        for (uint32_t i = stack.depth; i-- > 0;) {
            append_frame(out, profile, stack.frames[i]);
            if (i) rb_hs_buffer_puts(out, ";");
        }
        rb_hs_buffer_printf(out, " %" PRId64 "\n", sum);
    }
    rb_hs_stack_free(&stack);
    rb_hs_free(HS_MEM_SNAPSHOTS, sums);
    if (!error && out->failed) error = ENOMEM;
    return error;
}
