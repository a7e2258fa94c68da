/* See profile/pins.h. */
#include "heap_sampler/profile/pins.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/kept_chain.h"

#include <inttypes.h>

enum { PINS_MOST = 256 };       /* in the JSON object; the rest is one */

/* -- from samples ------------------------------------------------------------------------------ */

static bool
same_line_p(const struct hs_frame *a, const struct hs_frame *b)
{
    return a->line == b->line && a->path == b->path;
}

/* Of the line that made an object; a method in C has the line of its caller, whose frame is wanted. */
static uint32_t
frame_with_line(const struct hs_profile *profile, uint32_t node)
{
    while (node && !profile->frames[profile->nodes[node].frame].line) node = profile->nodes[node].parent;
    if (!node) return UINT32_MAX;
    uint32_t frame = profile->nodes[node].frame;
    while ((node = profile->nodes[node].parent) && same_line_p(&profile->frames[profile->nodes[node].frame], &profile->frames[frame])) {
        frame = profile->nodes[node].frame;
    }
    return frame;
}

static int
compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int
compare_names(const void *left, const void *right)
{
    const struct hs_pin *a = left, *b = right;
    if (a->nodes.pin != b->nodes.pin) return compare_numbers(a->nodes.pin, b->nodes.pin);
    if (a->nodes.holder != b->nodes.holder) return compare_numbers(a->nodes.holder, b->nodes.holder);
    return compare_numbers(a->frame, b->frame);
}

static int
compare_sizes(const void *left, const void *right)
{
    const struct hs_pin *a = left, *b = right;
    if (a->free.space != b->free.space) return a->free.space < b->free.space ? 1 : -1;
    return compare_names(left, right);
}

static void
add_up(struct hs_pin *sum, const struct hs_pin *one)
{
    sum->samples += one->samples;
    sum->objects += one->objects;
    sum->free.space += one->free.space;
    sum->free.variance += one->free.variance;
}

/* Sorted ones. */
static void
join(struct hs_profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->pin_count; i++) {
        const struct hs_pin *one = &profile->pins[i];
        if (i && compare_names(&profile->pins[count - 1], one) == 0) add_up(&profile->pins[count - 1], one);
        else profile->pins[count++] = *one;
    }
    profile->pin_count = count;
}

static struct hs_pin
pin_of(const struct hs_profile *profile, const struct hs_slot_copy *copy)
{
    const struct hs_row *row = &profile->rows[copy->row];
    double weight = rb_hs_estimate_one(row->slot_size, copy->interval).objects, bytes = copy->free_share;
    return (struct hs_pin){
        .nodes = profile->holders.object_pins[copy->number],
        .frame = frame_with_line(profile, row->node),
        .samples = 1,
        .objects = weight,
        .free = {weight * bytes, weight * (weight - 1) * bytes * bytes},
    };
}

bool
rb_hs_pins_add(struct hs_profile *profile, const struct hs_slot_copies *copied)
{
    size_t count = 0;
    for (size_t i = 0; i < copied->record_count; i++) count += copied->records[i].record.pinned;
    profile->pins = rb_hs_malloc(HS_MEM_SNAPSHOTS, count * sizeof(*profile->pins) + 1);
    if (!profile->pins) return false;
    for (size_t i = 0; i < copied->record_count; i++) {
        const struct hs_slot_copy *copy = &copied->records[i];
        if (copy->record.pinned && !copy->record.young) profile->pins[profile->pin_count++] = pin_of(profile, copy);
    }
    rb_hs_sort(profile->pins, profile->pin_count, sizeof(*profile->pins), compare_names);
    join(profile);
    rb_hs_sort(profile->pins, profile->pin_count, sizeof(*profile->pins), compare_sizes);
    return true;
}

/* -- in a file ----------------------------------------------------------------------------------- */

static void
append_text(struct hs_buffer *out, const char *name, const struct hs_profile *profile, uint32_t text)
{
    rb_hs_buffer_printf(out, "\"%s\":", name);
    rb_hs_append_json(out, profile->texts[text]);
    rb_hs_buffer_puts(out, ",");
}

static void
append_names(struct hs_buffer *out, const struct hs_profile *profile, const struct hs_pin *pin)
{
    const struct hs_holder *node = &profile->holders.nodes[pin->nodes.pin];
    append_text(out, "name", profile, node->name);
    append_text(out, "kind", profile, node->kind);
    append_text(out, "class", profile, node->klass);
    append_text(out, "path", profile, node->path);
    rb_hs_buffer_printf(out, "\"line\":%" PRIu32 ",\"holder\":[", node->line);
    rb_hs_append_chain(out, profile, pin->nodes.holder);
    rb_hs_buffer_puts(out, "],");
    if (pin->frame == UINT32_MAX) return;
    const struct hs_frame *frame = &profile->frames[pin->frame];
    append_text(out, "made_in", profile, frame->label);
    append_text(out, "made_path", profile, frame->path);
    rb_hs_buffer_printf(out, "\"made_line\":%" PRIu32 ",", frame->line);
}

static void
append_figures(struct hs_buffer *out, const struct hs_pin *pin)
{
    rb_hs_buffer_printf(out, "\"samples\":%" PRIu64 ",\"objects\":%.0f,\"free\":%.0f,\"var\":%.0f}", pin->samples, pin->objects, pin->free.space, pin->free.variance);
}

void
rb_hs_pins_describe(struct hs_buffer *out, const struct hs_profile *profile)
{
    struct hs_pin others = {0};
    rb_hs_buffer_puts(out, "\"pins\":[");
    for (size_t i = 0; i < profile->pin_count; i++) {
        const struct hs_pin *pin = &profile->pins[i];
        if (i >= PINS_MOST) {
            add_up(&others, pin);
            continue;
        }
        rb_hs_buffer_puts(out, i ? ",{" : "{");
        append_names(out, profile, pin);
        append_figures(out, pin);
    }
    if (profile->pin_count > PINS_MOST) {
        rb_hs_buffer_puts(out, ",{");
        append_figures(out, &others);
    }
    rb_hs_buffer_puts(out, "],");
}
