/*
 * A profile as text, for people who ask with nothing but curl: the places that
 * hold most, or that allocate most, with their stacks.
 *
 *     inuse: 12345 objects, 1048576 bytes; alloc: …
 *
 *      inuse bytes      objects  alloc bytes      objects  class
 *          1048576        12345      4194304        51234  String
 *          	app/models/post.rb:12 in Post#title
 */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/profile/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PLACES_MAX = 200,
       FRAMES_MAX = 48 };

struct figures {
    double inuse, inuse_objects, alloc, alloc_objects;
};

/* What rows of one stack and class hold together. */
struct place {
    const struct hs_row *row;   /* the first of them */
    struct figures figures;
    double rank;
};

static int
compare_rows(const void *left, const void *right)
{
    const struct hs_row *a = ((const struct place *)left)->row, *b = ((const struct place *)right)->row;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->class_name != b->class_name) return a->class_name < b->class_name ? -1 : 1;
    if (a->library != b->library) return a->library < b->library ? -1 : 1;
    return (a->malloced > b->malloced) - (a->malloced < b->malloced);
}

static int
compare_ranks(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
    return compare_rows(left, right);
}

/* What was born since the last mark is in use, too, as far as anybody knows. */
static void
add(struct figures *sum, const struct hs_row *row)
{
    sum->inuse += row->inuse.space + row->young.space;
    sum->inuse_objects += row->inuse.objects + row->young.objects;
    sum->alloc += row->alloc.space;
    sum->alloc_objects += row->alloc.objects;
}

static size_t
join(struct place *places, size_t count)
{
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && compare_rows(&places[i], &places[last]) != 0) places[++last] = places[i];
        add(&places[last].figures, places[i].row);
    }
    return count ? last + 1 : 0;
}

static void
put_text(struct hs_buffer *out, const struct hs_profile *profile, uint32_t number)
{
    struct hs_text text = profile->texts[number];
    for (uint32_t i = 0; i < text.len;) {
        size_t len = rb_hs_utf8_length(text.ptr + i, text.len - i);
        bool shown = len > 1 || (len == 1 && (unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != 0x7f);
        rb_hs_buffer_append(out, shown ? text.ptr + i : "?", shown ? len : 1);
        i += (uint32_t)(len ? len : 1);
    }
}

static void
put_frame(struct hs_buffer *out, const struct hs_profile *profile, uint32_t number)
{
    const struct hs_frame *frame = &profile->frames[number];
    rb_hs_buffer_puts(out, "\t");
    put_text(out, profile, frame->path);
    if (frame->line) rb_hs_buffer_printf(out, ":%" PRIu32, frame->line);
    if (profile->texts[frame->path].len) rb_hs_buffer_puts(out, " in ");
    if (profile->texts[frame->label].len) put_text(out, profile, frame->label);
    else if (frame->address) rb_hs_buffer_printf(out, "0x%" PRIx64, frame->address);
    else rb_hs_buffer_puts(out, HS_NO_LABEL);
    rb_hs_buffer_puts(out, "\n");
}

static int
put_stack(struct hs_buffer *out, const struct hs_profile *profile, struct hs_stack *stack, uint32_t node)
{
    int error = rb_hs_stack_read(stack, profile, node);
    if (error) return error;
    if (!stack->depth) rb_hs_buffer_puts(out, "\t" HS_NO_STACK "\n");
    for (uint32_t i = 0; i < stack->depth && i < FRAMES_MAX; i++) put_frame(out, profile, stack->frames[i]);
    if (stack->depth > FRAMES_MAX) rb_hs_buffer_printf(out, "\t… %u more\n", stack->depth - FRAMES_MAX);
    return 0;
}

static int
put_place(struct hs_buffer *out, const struct hs_profile *profile, struct hs_stack *stack, const struct place *place)
{
    const struct figures *figures = &place->figures;
    rb_hs_buffer_printf(out, "\n%14.0f %12.0f %14.0f %12.0f  ", figures->inuse, figures->inuse_objects, figures->alloc, figures->alloc_objects);
    put_text(out, profile, place->row->class_name);
    if (place->row->malloced && profile->texts[place->row->library].len) {
        rb_hs_buffer_puts(out, " ");
        put_text(out, profile, place->row->library);
    }
    rb_hs_buffer_puts(out, "\n");
    return put_stack(out, profile, stack, place->row->node);
}

static void
put_sum(struct hs_buffer *out, const struct hs_profile *profile, const struct place *places, size_t count)
{
    struct figures sum = {0};
    const struct hs_profile_meta *meta = &profile->meta;
    for (size_t i = 0; i < count; i++) add(&sum, places[i].row);
    rb_hs_buffer_printf(out, "heap profile of process %" PRIu64 ", sampled for %.0f s, interval %" PRIu64 " bytes, rss %" PRIu64 " bytes\n",
                        meta->process_id, (double)(meta->taken_ns - meta->started_ns) / 1e9, meta->interval, meta->account.rss);
    rb_hs_buffer_printf(out, "inuse: %.0f objects, %.0f bytes; alloc: %.0f objects, %.0f bytes (estimates)\n\n", sum.inuse_objects, sum.inuse, sum.alloc_objects, sum.alloc);
    rb_hs_buffer_printf(out, "%14s %12s %14s %12s  class\n", "inuse bytes", "objects", "alloc bytes", "objects");
}

/* Where a difference is asked for, what went counts as much as what came. */
static void
rank(struct place *places, size_t count, enum hs_shown_first first)
{
    for (size_t i = 0; i < count; i++) places[i].rank = fabs(first == HS_ALLOC_FIRST ? places[i].figures.alloc : places[i].figures.inuse);
    rb_hs_sort(places, count, sizeof(*places), compare_ranks);
}

int
rb_hs_encode_text(const struct hs_profile *profile, enum hs_shown_first first, struct hs_buffer *out)
{
    struct hs_stack stack = {0};
    int error = rb_hs_profile_check(profile);
    if (error) return error;
    struct place *places = rb_hs_calloc(HS_MEM_SNAPSHOTS, profile->row_count + 1, sizeof(*places));
    if (!places) return ENOMEM;
    for (size_t i = 0; i < profile->row_count; i++) places[i].row = &profile->rows[i];
    put_sum(out, profile, places, profile->row_count);
    rb_hs_sort(places, profile->row_count, sizeof(*places), compare_rows);
    size_t count = join(places, profile->row_count);
    rank(places, count, first);
    for (size_t i = 0; !error && i < count && i < PLACES_MAX; i++) error = put_place(out, profile, &stack, &places[i]);
    if (count > PLACES_MAX) rb_hs_buffer_printf(out, "\n%zu more places\n", count - PLACES_MAX);
    rb_hs_stack_free(&stack);
    rb_hs_free(HS_MEM_SNAPSHOTS, places);
    return !error && out->failed ? ENOMEM : error;
}
