/* What has changed between two profiles: profile/delta.c. */
#include "heap_sampler/base/memory.h"
#include "heap_sampler/profile/delta.h"
#include "heap_sampler/profile/formats.h"
#include "sample.h"
#include "tap.h"
#include "tests.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static double
sum_of(const struct hs_profile *profile, double (*value)(const struct hs_row *row))
{
    double sum = 0;
    for (size_t i = 0; i < profile->row_count; i++) sum += value(&profile->rows[i]);
    return sum;
}

static double
inuse(const struct hs_row *row)
{
    return row->inuse.space;
}

static double
allocated(const struct hs_row *row)
{
    return row->alloc.space;
}

static bool
near_p(double a, double b)
{
    return fabs(a - b) < 1e-6 * (fabs(a) + fabs(b) + 1);
}

/* The same is nothing. */
static void
test_same(void)
{
    for (int i = 0; i < SAMPLE_PROFILES; i++) {
        struct hs_profile first, second;
        if (strcmp(sample_profiles[i].name, "huge") == 0) continue;     /* infinite less infinite */
        sample_profiles[i].make(&first);
        sample_profiles[i].make(&second);
        int error = rb_hs_profile_subtract(&second, &first);
        ok(!error && second.row_count == 0, "delta: %s less itself has no rows", sample_profiles[i].name);
        rb_hs_profile_free(&first);
        rb_hs_profile_free(&second);
    }
}

/* Rows that grew, that came, and that went; texts and nodes with other numbers. */
static void
test_change(void)
{
    struct hs_profile first, second;
    struct hs_buffer out = {0};
    sample_profile(&first);
    sample_profile(&second);
    double before_inuse = sum_of(&first, inuse), before_alloc = sum_of(&first, allocated);
    second.rows[0].inuse.space += 1000;
    second.rows[0].inuse.objects += 10;
    second.rows[0].inuse.variance += 5;
    second.rows[1] = second.rows[--second.row_count];
    struct hs_text swapped = second.texts[2];
    for (uint32_t i = 0; i < second.frame_count; i++) {
        struct hs_frame *frame = &second.frames[i];
        uint32_t *numbers[] = {&frame->label, &frame->path, &frame->absolute_path};
        for (int n = 0; n < 3; n++) *numbers[n] = *numbers[n] == 2 ? 3 : *numbers[n] == 3 ? 2
                                                                                          : *numbers[n];
    }
    second.texts[2] = second.texts[3];
    second.texts[3] = swapped;
    double after_inuse = sum_of(&second, inuse), after_alloc = sum_of(&second, allocated);
    first.meta.taken_ns = 5000000000;
    second.meta.taken_ns = 7500000000;
    second.meta.started_ns = 1;
    int error = rb_hs_profile_subtract(&second, &first);
    ok(!error && second.row_count == 2, "delta: of rows that stay nothing is said");
    ok(near_p(sum_of(&second, inuse), after_inuse - before_inuse) && near_p(sum_of(&second, allocated), after_alloc - before_alloc), "delta: sums are those of the difference");
    ok(second.rows[0].inuse.space == 1000 && second.rows[0].inuse.objects == 10 && second.rows[0].inuse.variance == 5, "delta: what came is there, with its variance");
    ok(second.rows[1].inuse.space <= 0 && second.rows[1].alloc.space <= 0, "delta: what went is less than nothing");
    ok(second.meta.started_ns == 5000000000 && second.meta.item_count == 1 && strcmp(second.meta.items[0].json, "2.500") == 0, "delta: it begins with the first, and says how long it was");
    ok(!rb_hs_encode(&second, HS_PB, &out) && out.len > 0, "delta: it is a profile, which is encoded");
    rb_hs_buffer_free(&out);
    rb_hs_profile_free(&first);
    rb_hs_profile_free(&second);
}

/* What only the first has brings its stacks along. */
static void
test_gone(void)
{
    struct hs_profile first, second = {0};
    struct hs_buffer out = {0};
    large_profile(&first);
    double before = sum_of(&first, allocated);
    size_t rows = first.row_count;
    second.texts = rb_hs_calloc(HS_MEM_SNAPSHOTS, 1, sizeof(*second.texts));
    second.text_count = 1;
    int error = rb_hs_profile_subtract(&second, &first);
    ok(!error && second.row_count > 0 && second.row_count <= rows && near_p(sum_of(&second, allocated), -before), "delta: nothing less a profile is that profile, below nothing");
    ok(!rb_hs_encode(&second, HS_PB, &out), "delta: its stacks came along");
    rb_hs_buffer_free(&out);
    rb_hs_profile_free(&first);
    rb_hs_profile_free(&second);
}

static void
test_trouble(void)
{
    long countdown = 0;
    int error;
    struct hs_profile first, second;
    sample_profile(&first);
    sample_profile(&second);
    second.meta.session++;
    is_number(rb_hs_profile_subtract(&second, &first), ESTALE, "delta: two samplings have none");
    second.meta.session--;
    first.rows[0].node = UINT32_MAX;
    is_number(rb_hs_profile_subtract(&second, &first), EINVAL, "delta: a profile that leads nowhere has none");
    rb_hs_profile_free(&first);
    rb_hs_profile_free(&second);
    do {
        sample_profile(&first);
        sample_profile(&second);
        first.rows[0].slot_size++;
        rb_hs_memory_fail_after(countdown++);
        error = rb_hs_profile_subtract(&second, &first);
        rb_hs_memory_fail_after(-1);
        rb_hs_profile_free(&first);
        rb_hs_profile_free(&second);
    } while (error == ENOMEM);
    ok(!error && countdown > 8, "delta: each of %ld allocations may fail", countdown - 1);
}

void
test_delta(void)
{
    test_same();
    test_change();
    test_gone();
    test_trouble();
}
