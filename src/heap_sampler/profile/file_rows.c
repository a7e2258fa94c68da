/* See profile/file_rows.h. */
#include "heap_sampler/profile/file_rows.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/table.h"

/* Of a node. */
struct stack {
    bool used, live;
    double space, variance;     /* allocated */
    uint64_t samples;
    uint32_t frame;             /* of its line */
};

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_samples(const struct hs_file_row *a, const struct hs_file_row *b)
{
    int order = compare_numbers(a->stack, b->stack);
    if (!order) order = compare_numbers(a->row->malloced, b->row->malloced);
    if (!order) order = compare_numbers(a->row->class_name, b->row->class_name);
    if (!order) order = compare_numbers(a->row->library, b->row->library);
    return order ? order : compare_numbers(a->row->labels, b->row->labels);
}

static int
compare_rows(const void *left, const void *right)
{
    const struct hs_file_row *a = left, *b = right;
    int order = compare_samples(a, b);
    if (!order) order = compare_numbers(a->row->type, b->row->type);
    if (!order) order = compare_numbers(a->row->slot_size, b->row->slot_size);
    if (!order) order = compare_numbers(a->row->has_birth, b->row->has_birth);
    return order ? order : compare_numbers(a->row->birth_gc, b->row->birth_gc);
}

static int
compare_places(const void *left, const void *right)
{
    int order = compare_rows(left, right);
    return order ? order : compare_numbers((uintptr_t)((const struct hs_file_row *)left)->row, (uintptr_t)((const struct hs_file_row *)right)->row);
}

bool
rb_hs_file_rows_of_one_sample(const struct hs_file_row *a, const struct hs_file_row *b)
{
    return compare_samples(a, b) == 0;
}

bool
rb_hs_file_rows_equal(const struct hs_file_row *a, const struct hs_file_row *b)
{
    return compare_rows(a, b) == 0;
}

/* What was allocated in all, and how many stacks there are. */
static double
look_at_stacks(const struct hs_profile *profile, struct stack *stacks, size_t *count)
{
    double space = 0;
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        struct stack *stack = &stacks[row->node];
        *count += !stack->used;
        stack->used = true;
        stack->live |= row->inuse.samples > 0 || row->young.samples > 0;
        stack->space += row->alloc.space;
        stack->variance += row->alloc.variance;
        stack->samples += row->alloc.samples;
        space += row->alloc.space;
    }
    return space;
}

static void
cut_stacks(const struct hs_profile *profile, struct stack *stacks, double least)
{
    for (uint32_t node = 1; node < profile->node_count; node++) {
        struct stack *stack = &stacks[node];
        bool few = stack->samples <= HS_SAMPLES_FEW && stack->variance > 0 && stack->space < least;
        if (!stack->used || stack->live || !few) continue;
        uint32_t frame = rb_hs_frame_with_line(profile, node);
        stack->frame = frame == UINT32_MAX ? profile->frame_count : frame;
    }
}

static uint64_t
stack_of(const struct hs_profile *profile, const struct hs_row *row, const struct stack *stack)
{
    if (!row->node || stack->frame == UINT32_MAX) return row->node;
    return profile->node_count + (uint64_t)stack->frame;
}

static bool
fill(const struct hs_profile *profile, struct hs_file_row *rows)
{
    size_t count = 0;
    struct stack *stacks = rb_hs_calloc(HS_MEM_SNAPSHOTS, (size_t)profile->node_count + 1, sizeof(*stacks));
    if (!stacks) return false;
    for (uint32_t node = 0; node < profile->node_count; node++) stacks[node].frame = UINT32_MAX;
    double space = look_at_stacks(profile, stacks, &count);
    if (count > HS_STACKS_ALL_SHOWN) cut_stacks(profile, stacks, space * HS_SHARE_LEAST);
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct hs_row *row = &profile->rows[i];
        rows[i] = (struct hs_file_row){row, stack_of(profile, row, &stacks[row->node])};
    }
    rb_hs_sort(rows, profile->row_count, sizeof(*rows), compare_places);
    rb_hs_free(HS_MEM_SNAPSHOTS, stacks);
    return true;
}

struct hs_file_row *
rb_hs_file_rows(const struct hs_profile *profile)
{
    struct hs_file_row *rows = rb_hs_malloc(HS_MEM_SNAPSHOTS, profile->row_count * sizeof(*rows) + 1);
    if (rows && fill(profile, rows)) return rows;
    rb_hs_free(HS_MEM_SNAPSHOTS, rows);
    return NULL;
}
