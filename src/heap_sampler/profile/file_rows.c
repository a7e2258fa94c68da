/*
 * The rows of a profile as a file has them: sorted, so that rows of one sample are next to each other, and with the
 * stacks that are worth their room: doc/format.md has the rule by which others are cut to their line, below (evicted).
 * The callers of stacks of few samples are most of a file, and one sample says little about a caller.
 */
#include "heap_sampler/profile/encode.h"
#include "heap_sampler/base/memory.h"

#define HS_SHARE_LEAST 1e-3
#define HS_SHARE_CUT 0.08
enum { HS_STACKS_ALL_SHOWN = 256,
       HS_SAMPLES_FEW = 2 };

/* The stack of a node. */
struct stack {
    bool whole;
    double alloc, live, variance;       /* bytes; the variance of what was allocated */
    uint64_t samples, live_samples;     /* allocated; alive */
    uint32_t frame;             /* of its line, if it is cut */
};

/* What one stack allocated, or has alive. */
struct part {
    double bytes;
    uint32_t node;
};

static int
compare_keys(const struct hs_file_row *a, const struct hs_file_row *b, int keys)
{
    const struct hs_row *x = a->row, *y = b->row;
    const uint64_t pairs[HS_ALL_KEYS][2] = {
        {a->stack, b->stack},
        {x->malloced, y->malloced},
        {x->class_name, y->class_name},
        {x->library, y->library},
        {x->labels, y->labels},
        {x->type, y->type},
        {x->slot_size, y->slot_size},
        {x->has_allocation_gc, y->has_allocation_gc},
        {x->allocation_gc, y->allocation_gc},
        {(uintptr_t)x, (uintptr_t)y},
    };
    for (int i = 0; i < keys; i++) {
        if (pairs[i][0] != pairs[i][1]) return pairs[i][0] < pairs[i][1] ? -1 : 1;
    }
    return 0;
}

static int
compare_rows(const void *left, const void *right)
{
    return compare_keys(left, right, HS_ALL_KEYS);
}

bool
rb_hs_file_rows_agree(const struct hs_file_row *a, const struct hs_file_row *b, int keys)
{
    return compare_keys(a, b, keys) == 0;
}

static int
compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* Returns how many stacks there are; `parts` has a place for each. */
static size_t
add_stacks(const struct hs_profile *profile, struct stack *stacks, struct part *parts)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        struct stack *stack = &stacks[row->node];
        stack->alloc += row->alloc.space;
        stack->variance += row->alloc.variance;
        stack->samples += row->alloc.samples;
        stack->live += row->inuse.space + row->young.space;
        stack->live_samples += row->inuse.samples + row->young.samples;
        if (!stack->whole) parts[count++].node = row->node;
        stack->whole = true;
    }
    return count;
}

/* All but the smallest, which together have a share of all bytes.  Returns all bytes. */
static double
keep_large(struct stack *stacks, struct part *parts, size_t count)
{
    double all = 0, small = 0;
    for (size_t i = 0; i < count; i++) all += parts[i].bytes;
    rb_hs_sort(parts, count, sizeof(*parts), compare_parts);
    for (size_t i = 0; i < count; i++) {
        struct stack *stack = &stacks[parts[i].node];
        if (!stack->whole) stack->whole = (small += parts[i].bytes) > all * HS_SHARE_CUT;
    }
    return all;
}

static void
cut_stacks(const struct hs_profile *profile, struct stack *stacks, struct part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stack *stack = &stacks[parts[i].node];
        stack->whole = stack->live_samples > HS_SAMPLES_FEW || stack->variance == 0;
        parts[i].bytes = stack->alloc;
    }
    double least = keep_large(stacks, parts, count) * HS_SHARE_LEAST;
    for (size_t i = 0; i < count; i++) parts[i].bytes = stacks[parts[i].node].live;
    keep_large(stacks, parts, count);
    for (size_t i = 0; i < count; i++) {
        struct stack *stack = &stacks[parts[i].node];
        bool few = stack->samples <= HS_SAMPLES_FEW && !stack->live_samples && stack->variance > 0 && stack->alloc < least;
        if (!stack->whole || few) stack->frame = rb_hs_frame_with_line(profile, parts[i].node);     /* without a line it stays */
    }
}

struct hs_file_row *
rb_hs_file_rows(const struct hs_profile *profile)
{
    struct hs_file_row *rows = rb_hs_malloc(HS_MEM_SNAPSHOTS, profile->row_count * sizeof(*rows) + 1);
    struct stack *stacks = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)profile->node_count + 1, sizeof(*stacks));
    struct part *parts = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)profile->node_count + 1, sizeof(*parts));
    bool filled = rows && stacks && parts;
    if (filled) {
        for (uint32_t node = 0; node < profile->node_count; node++) stacks[node].frame = UINT32_MAX;
        size_t count = add_stacks(profile, stacks, parts);
        if (count > HS_STACKS_ALL_SHOWN) cut_stacks(profile, stacks, parts, count);
        for (size_t i = 0; i < profile->row_count; i++) {
            uint32_t node = profile->rows[i].node, frame = stacks[node].frame;
            rows[i] = (struct hs_file_row){&profile->rows[i], node && frame != UINT32_MAX ? (uint64_t)profile->node_count + frame : node};
        }
        rb_hs_sort(rows, profile->row_count, sizeof(*rows), compare_rows);
    }
    rb_hs_free(HS_MEM_SNAPSHOTS, stacks);
    rb_hs_free(HS_MEM_SNAPSHOTS, parts);
    if (!filled) rb_hs_free(HS_MEM_SNAPSHOTS, rows);
    return filled ? rows : NULL;
}
