/* See profile/kept.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/profile/kept.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/profile/buffer.h"
#include "heap_sampler/profile/encode.h"

#include <inttypes.h>
#include <string.h>

/* The root first, without brackets; of a very long chain its end. */
static void
append_chain(struct hs_buffer *out, const struct hs_profile *profile, uint32_t node)
{
    enum { STEPS_MOST = 64 };
    const struct hs_holder *nodes = profile->holders.nodes;
    uint32_t names[STEPS_MOST], count = 0;
    for (;; node = nodes[node].parent) {
        names[count++] = nodes[node].name;
        if (nodes[node].parent == node || count == STEPS_MOST) break;
    }
    while (count) {
        rb_hs_append_json(out, profile->texts[names[--count]]);
        if (count) rb_hs_buffer_puts(out, ",");
    }
}

enum { PINS_MOST = 256 };       /* in the JSON object; the rest is one */

/* -- what keeps GC.compact from moving samples ------------------------------------------ */

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
join_pins(struct hs_profile *profile)
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

static bool
add_pins(struct hs_profile *profile, const struct hs_slot_copies *copied)
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
    join_pins(profile);
    rb_hs_sort(profile->pins, profile->pin_count, sizeof(*profile->pins), compare_sizes);
    return true;
}

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
    append_chain(out, profile, pin->nodes.holder);
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

static void
append_pins(struct hs_buffer *out, const struct hs_profile *profile)
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

/* -- who keeps samples -------------------------------------------------------------------- */

static bool
begin(struct hs_profile *profile, size_t samples)
{
    profile->kept_count = 0;
    profile->kept = rb_hs_malloc(HS_MEM_SNAPSHOTS, samples * sizeof(*profile->kept) + 1);
    return profile->kept != NULL;
}

static void
add(struct hs_profile *profile, size_t row, uint32_t node, const struct hs_estimate *one)
{
    profile->kept[profile->kept_count++] = (struct hs_kept){(uint32_t)row, node, one->objects, one->space, one->variance};
}

static int
compare_kept(const void *left, const void *right)
{
    const struct hs_kept *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return 0;
}

/* Sorted ones. */
static void
join(struct hs_profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->kept_count; i++) {
        const struct hs_kept *one = &profile->kept[i];
        struct hs_kept *sum = &profile->kept[count ? count - 1 : 0];
        if (!i || compare_kept(sum, one) != 0) {
            profile->kept[count++] = *one;
            continue;
        }
        sum->objects += one->objects;
        sum->space += one->space;
        sum->variance += one->variance;
    }
    profile->kept_count = count;
}

/* The texts of the nodes become the profile's; the nodes lead to them there. */
static bool
add_texts(struct hs_profile *profile)
{
    struct hs_holders *holders = &profile->holders;
    uint32_t base = profile->text_count - 1;    /* text 0 is empty in both */
    struct hs_text *texts = rb_hs_realloc(HS_MEM_SNAPSHOTS, profile->texts,
                                          ((size_t)profile->text_count + holders->text_count) * sizeof(*texts));
    if (!texts) return false;
    profile->texts = texts;
    for (uint32_t i = 1; i < holders->text_count; i++) {
        texts[profile->text_count++] = (struct hs_text){holders->bytes + holders->texts[i].at, holders->texts[i].len};
    }
    for (uint32_t i = 0; i < holders->node_count; i++) {
        struct hs_holder *node = &holders->nodes[i];
        node->kind += node->kind ? base : 0;
        node->name += node->name ? base : 0;
        node->klass += node->klass ? base : 0;
        node->path += node->path ? base : 0;
    }
    return true;
}

static bool
end(struct hs_profile *profile)
{
    if (!add_texts(profile)) return false;
    rb_hs_sort(profile->kept, profile->kept_count, sizeof(*profile->kept), compare_kept);
    join(profile);
    return true;
}

static void
append_text_or_null(struct hs_buffer *out, const char *name, const char *text)
{
    rb_hs_buffer_printf(out, "\"%s\":", name);
    if (*text) rb_hs_append_json(out, rb_hs_text_of(text));
    else rb_hs_buffer_puts(out, "null");
    rb_hs_buffer_puts(out, ",");
}

/* Where the code stands that has the reference; an empty path: in no code. */
static void
append_place(struct hs_buffer *out, const struct hs_profile *profile, const struct hs_holder *node)
{
    rb_hs_buffer_puts(out, ",\"path\":");
    rb_hs_append_json(out, profile->texts[node->path]);
    rb_hs_buffer_printf(out, ",\"line\":%u", node->line);
}

static void
append_freed(struct hs_buffer *out, const struct hs_profile *profile)
{
    rb_hs_buffer_puts(out, "\"freed\":[");
    for (uint32_t i = 0; i < profile->holders.freed_count; i++) {
        const struct hs_freed *freed = &profile->holders.freed[i];
        rb_hs_buffer_printf(out, "%s{\"chain\":[", i ? "," : "");
        append_chain(out, profile, freed->node);
        rb_hs_buffer_puts(out, "]");
        append_place(out, profile, &profile->holders.nodes[freed->node]);
        rb_hs_buffer_printf(out, ",\"objects\":%.0f,\"space\":%.0f,\"var\":%.0f}", freed->objects, freed->space, freed->variance);
    }
    rb_hs_buffer_puts(out, "],");
}

/* What is reached through a node and those below it. */
static double
space_below(const struct hs_profile *profile, uint32_t top)
{
    double space = 0;
    for (size_t i = 0; i < profile->kept_count; i++) {
        uint32_t node = profile->kept[i].node;
        while (node > top) node = profile->holders.nodes[node].parent;
        if (node == top) space += profile->kept[i].space;
    }
    return space;
}

/* Threads by the line where they wait. */
static void
append_stuck(struct hs_buffer *out, const struct hs_profile *profile)
{
    const struct hs_holders *holders = &profile->holders;
    const char *separator = "";
    rb_hs_buffer_puts(out, "\"stuck\":[");
    for (uint32_t i = HS_TOP_COUNT; i < holders->node_count; i++) {
        const struct hs_holder *node = &holders->nodes[i];
        if (node->parent != HS_TOP_STUCK) continue;
        rb_hs_buffer_printf(out, "%s{\"name\":", separator);
        rb_hs_append_json(out, profile->texts[node->name]);
        append_place(out, profile, node);
        rb_hs_buffer_printf(out, ",\"threads\":%u,\"space\":%.0f}", node->objects, space_below(profile, i));
        separator = ",";
    }
    rb_hs_buffer_puts(out, "],");
}

static void
append_room(struct hs_buffer *out, const struct hs_memory_room *room)
{
    if (!room->limit) return;
    rb_hs_buffer_printf(out, "\"room_bytes\":%" PRIu64 ",\"limit_bytes\":%" PRIu64 ",", room->left, room->limit);
    append_text_or_null(out, "cgroup", room->group);
}

bool
rb_hs_kept_describe(struct hs_profile *profile)
{
    const struct hs_holders *holders = &profile->holders;
    const struct hs_holder_figures *figures = &holders->figures;
    struct hs_buffer json = {0};
    rb_hs_buffer_puts(&json, "{");
    append_text_or_null(&json, "refused", rb_hs_refusal_text(holders->refusal));
    append_text_or_null(&json, "ended_in", holders->type);
    rb_hs_buffer_printf(&json, "\"signal\":%d,\"objects\":%" PRIu64 ",\"edges\":%" PRIu64 ",\"slots\":%" PRIu64 ",", holders->signal,
                        figures->objects, figures->edges, figures->slots);
    append_freed(&json, profile);
    append_stuck(&json, profile);
    append_pins(&json, profile);
    rb_hs_buffer_printf(&json, "\"without_ns\":%" PRIu64 ",", figures->without_ns);
    rb_hs_buffer_printf(&json, "\"hold_up_ns\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"walk_ns\":%" PRIu64 ",\"name_ns\":%" PRIu64 ",",
                        holders->hold_up_ns, holders->ns, figures->walk_ns, figures->name_ns);
    append_room(&json, &holders->room);
    rb_hs_buffer_printf(&json, "\"demand_bytes\":%" PRIu64 ",\"estimate_bytes\":%" PRIu64 ",\"child_bytes\":%" PRIu64 ",\"evicted\":%" PRIu64 "}",
                        holders->demand, holders->estimate, figures->child_bytes, figures->evicted);
    rb_hs_buffer_append(&json, "", 1);
    bool ok = !json.failed && rb_hs_profile_add_meta(profile, "kept", json.ptr);
    rb_hs_buffer_free(&json);
    return ok;
}

/* -- the child that walks ----------------------------------------------------------------- */

static uintptr_t
wanted_object(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    const struct hs_slot_copy *copy = &copies->slots.records[position];
    return (uintptr_t)rb_heap_sampler_gc_slot_address(copy->body, copy->record.slot);
}

static uintptr_t
wanted_block(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    return copies->malloc.blocks[position].address;
}

static bool
pinned(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    return copies->slots.records[position].record.pinned;
}

static struct hs_estimate
object_weight(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    const struct hs_slot_copy *copy = &copies->slots.records[position];
    return rb_hs_estimate_one(copies->slots.sites[copy->record.site].slot_size, copy->interval);
}

static struct hs_estimate
block_weight(const void *data, uint32_t position)
{
    const struct hs_copies *copies = data;
    const struct hs_malloc_block_copy *block = &copies->malloc.blocks[position];
    return rb_hs_estimate_one(block->size, block->interval);
}

void
rb_hs_kept_samples_fork(struct hs_holders_child *child, const struct hs_copies *copies)
{
    struct hs_wanted wanted = {
        .data = copies,
        .objects = (uint32_t)copies->slots.record_count,
        .blocks = copies->malloc.block_count,
        .object = wanted_object,
        .block = wanted_block,
        .pinned = pinned,
        .object_weight = object_weight,
        .block_weight = block_weight,
    };
    rb_hs_holders_fork(child, &wanted);
}

/* What is counted, and not sampled: the memory of YJIT's code, which no object has. */
static void
add_counted(struct hs_profile *profile)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        if (row->malloced && !row->has_birth && row->inuse.samples) add(profile, i, HS_TOP_CACHES, &row->inuse);
    }
}

bool
rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies)
{
    const struct hs_holders *holders = &profile->holders;
    if (!begin(profile, copies->slots.record_count + copies->malloc.block_count + 1)) return false;
    for (size_t i = 0; i < copies->slots.record_count; i++) {
        const struct hs_slot_copy *copy = &copies->slots.records[i];
        struct hs_estimate one = rb_hs_estimate_one(profile->rows[copy->row].slot_size, copy->interval);
        add(profile, copy->row, holders->object_nodes[copy->number], &one);
    }
    for (uint32_t i = 0; i < copies->malloc.block_count; i++) {
        const struct hs_malloc_block_copy *block = &copies->malloc.blocks[i];
        struct hs_estimate one = rb_hs_estimate_one(block->size, block->interval);
        add(profile, block->row, holders->block_nodes[block->number], &one);
    }
    add_counted(profile);
    return end(profile) && add_pins(profile, &copies->slots);
}
